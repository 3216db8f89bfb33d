"""Pooled runs whose speeds differ by more than chance."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report
from tests.support.rates import noisy
from tests.support.result_files import config, end, line, rates, start, write


def pair(folder: Path, *speeds: float) -> Report:
    folders = [folder / str(number) for number in range(len(speeds))]
    for number, speed in enumerate(speeds):
        values = rates(noisy(60, 0.0, 20 * number, speed))
        write(folders[number], "b.D0", config("b", device=0), start(), values, end())
    return report_of(folders)


@pytest.mark.parametrize("speeds", [(100.0, 92.5), (92.5, 100.0), (100.0, 99.0, 90.0)])
def test_runs_whose_speeds_are_far_apart_are_told(
    tmp_path: Path, speeds: tuple[float, ...]
) -> None:
    made = pair(tmp_path, *speeds)
    (found,) = (found for found in made.findings if found.name == "different_speeds")
    assert found.evidence["apart"] == pytest.approx(1 - min(speeds) / max(speeds), abs=0.01)
    assert "apart, more than the 5% that single launches may be: " in found.sentence
    for speed in (min(speeds), max(speeds)):
        assert f"({tmp_path / str(speeds.index(speed))})" in found.sentence


def test_launches_that_differ_as_launches_do_are_not(tmp_path: Path) -> None:
    assert not pair(tmp_path, 100.0, 98.4, 101.6).warnings


def test_runs_of_several_launches_are_compared_by_these(tmp_path: Path) -> None:
    """Their steps deviate by 1 %, and launches by 20 %: runs 10 % apart are alike."""
    for run, levels in (("one", (80, 100, 120)), ("two", (90, 110, 130))):
        for repeat, level in enumerate(levels):
            tagged = config("b", device=0, tag=["b", f"R{repeat}", "D0"])
            values = rates(noisy(60, 0.0, repeat, level))
            write(tmp_path / run, f"b.R{repeat}.D0", tagged, start(), values, end())
    made = report_of([tmp_path / "one", tmp_path / "two"], pool=True)
    assert "different_speeds" not in {found.name for found in made.findings}


@pytest.mark.parametrize(("tag", "said"), [("<tag>", True), (None, True), ("v1.2-3-gabc", False)])
def test_a_run_without_the_version_of_milabench(
    tmp_path: Path, tag: str | None, said: bool
) -> None:
    meta = line("meta", {"milabench": {"tag": tag}})
    write(tmp_path, "b.D0", config("b", device=0), meta, start(), rates([1.0] * 9), end())
    found = [each for each in report_of([tmp_path]).findings if each.name == "unknown_version"]
    assert [(each.severity, each.layer) for each in found] == [("note", "version")] * said
