"""Whether the host set the pace of a benchmark, and whether its model was compiled anew."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Finding
from tests.support.result_files import end, job, rates, start, told, write


def findings(folder: Path, *ranks: float, cache: str = "") -> list[Finding]:
    lines = [told(rank, device_idle=each) for rank, each in enumerate(ranks)]
    if cache:
        lines.append(told(model={"compile_cache": cache}))
    write(folder, "b.0", job("b"), start(), rates([100.0] * 60), *lines, end())
    names = ("host_bound", "warm_cache")
    return [each for each in report_of([folder]).findings if each.name in names]


@pytest.mark.parametrize("ranks", [(0.72,), (0.7, 0.74), (0.11, 0.11)])
def test_devices_that_wait_for_the_host_are_told(tmp_path: Path, ranks: tuple[float, ...]) -> None:
    (found,) = findings(tmp_path, *ranks)
    mean = sum(ranks) / len(ranks)
    expected = f"b: host-bound: its devices idle {mean:.0%} of a step, until the host has work"
    assert found.sentence == expected
    assert found.evidence == {"device_idle": pytest.approx(mean), "most": max(ranks)}


@pytest.mark.parametrize("ranks", [(), (0.0,), (0.09, 0.1)])
def test_devices_that_work_are_not(tmp_path: Path, ranks: tuple[float, ...]) -> None:
    assert findings(tmp_path, *ranks) == []


@pytest.mark.parametrize("cache", ["warm", "partly warm"])
def test_a_model_that_was_not_compiled_anew_is_told(tmp_path: Path, cache: str) -> None:
    (found,) = findings(tmp_path, cache=cache)
    expected = f"b: its compiler's cache was {cache}: compile_s is not that of a first run"
    assert found.sentence == expected
    assert findings(tmp_path / "cold", cache="cold") == []
