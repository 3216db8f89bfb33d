"""Whether the host set the pace of a benchmark, and whether its model was compiled anew."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.result_files import end, job, rates, start, steps, told, write


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
    expected = f"b: its devices idle {mean:.0%} of a step, waiting for Python"
    assert found.sentence == expected
    assert found.evidence == {"device_idle": pytest.approx(mean), "most": max(ranks)}


@pytest.mark.parametrize("ranks", [(), (0.0,), (0.09, 0.1)])
def test_devices_that_work_are_not(tmp_path: Path, ranks: tuple[float, ...]) -> None:
    assert findings(tmp_path, *ranks) == []


@pytest.mark.parametrize("cache", ["warm", "partly warm"])
def test_a_model_that_was_not_compiled_anew_is_told(tmp_path: Path, cache: str) -> None:
    (found,) = findings(tmp_path, cache=cache)
    part = "all" if cache == "warm" else "a part"
    expected = f"b: {part} of its code was compiled before: compile_s is not that of a first run"
    assert found.sentence == expected
    assert findings(tmp_path / "cold", cache="cold") == []


def waiting(folder: Path, *shares: float, idle: float = 0.0, count: int = 20) -> list[Finding]:
    """A job whose ranks wait for data in these shares of their steps of 10 ms."""
    lines = []
    for rank, share in enumerate(shares):
        waits = [10.0 * share] * count
        rest = [10.0 - wait for wait in waits]
        lines.append(steps(rank, [10.0] * count, waits, parts={"forward": rest}))
        lines.append(told(rank, device_idle=idle))
    values = rates([100.0 + k % 3 for k in range(60)], rank=0)
    write(folder, "b.0", job("b", len(shares)), start(), values, *lines, end())
    names = ("host_bound", "data_bound")
    return [each for each in report_of([folder]).findings if each.name in names]


@pytest.mark.parametrize("shares", [(0.2, 0.2), (0.11, 0.11, 0.11, 0.11), (0.3, 0.1, 0.1, 0.1)])
def test_ranks_that_wait_for_data_are_told(tmp_path: Path, shares: tuple[float, ...]) -> None:
    (found,) = waiting(tmp_path, *shares, idle=sum(shares) / len(shares))
    mean = sum(shares) / len(shares)
    assert found.sentence == f"b: its ranks wait for data in {mean:.0%} of a step"
    assert (found.name, found.severity) == ("data_bound", "warning")
    assert found.evidence == {"share": pytest.approx(mean), "most": pytest.approx(max(shares))}


@pytest.mark.parametrize("shares", [(0.0, 0.0), (0.09, 0.1), (0.3, 0.0, 0.0, 0.0)])
def test_ranks_that_work_or_one_that_is_slow_are_not(
    tmp_path: Path, shares: tuple[float, ...]
) -> None:
    assert waiting(tmp_path, *shares) == []
    assert waiting(tmp_path / "few", *[0.5] * len(shares), count=9) == []


def test_devices_that_idle_for_both_reasons_have_both(tmp_path: Path) -> None:
    found = waiting(tmp_path, 0.2, 0.2, idle=0.45)
    assert [each.name for each in found] == ["host_bound", "data_bound"]
