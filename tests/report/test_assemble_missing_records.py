"""Result files that are gone, or damaged as a whole, after the processes ended ok."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.commands.final_report import exit_code
from milabench_ddp.dispatch.runners.attached import HostRunner
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.model import Report
from milabench_ddp.report.sweeps.sweep import sweep_of
from tests.support.progress import RecordedProgress
from tests.support.run_contexts import context, program
from tests.support.workplace import GOOD

DEVICES = 3


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two benchmarks on three devices that ended ok."""
    path = tmp_path_factory.mktemp("whole")
    programs = [program(path, name, GOOD) for name in ("a", "b")]
    HostRunner().execute((context(path, *programs, gpus=DEVICES), RecordedProgress()))
    assert exit_code(report_of([path])) == 0
    return path


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of the run, to damage."""
    return Path(shutil.copytree(whole, tmp_path / "run"))


def of_b(report: Report) -> list[tuple[str, str]]:
    return [(each.outcome, each.reason) for each in report.failures if each.benchmark == "b"]


@pytest.mark.parametrize("device", range(DEVICES))
@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_text("")])
def test_a_process_without_records_is_missed(
    folder: Path, device: int, lose: Callable[[Path], object]
) -> None:
    lose(folder / f"b.D{device}.data")
    report = report_of([folder])
    why = f"its records are missing, or cannot be read: b.D{device}.data"
    assert of_b(report) == [("lost", why)]
    assert why in report_text(report, 1000)
    assert exit_code(report) == 1
    b = next(row for row in report.rows if row.name == "b")
    assert (b.n, b.fail, report.failure_rate) == (3, 1, 1 / 6)
    assert b.score == pytest.approx(2 * b.perf)  # the other two, counted once


def test_a_benchmark_without_any_records_is_missed(folder: Path) -> None:
    for path in folder.glob("b.*.data"):
        path.unlink()
    report = report_of([folder])
    why = "its records are missing, or cannot be read: b.D0.data, b.D1.data, b.D2.data"
    assert of_b(report) == [("lost", why)]
    assert report.unmeasured == ["b"]
    assert exit_code(report) == 1


def test_the_cell_of_a_sweep_says_so(folder: Path) -> None:
    (folder / "b.D1.data").unlink()
    sweep = sweep_of(report_of([folder]), "perf")
    notes = {label[0]: cells[0].note for label, cells in sweep.lines("")}
    assert notes["b"] == "lost: its records are missing, or cannot be read: b.D1.data"
    assert notes["a"] == ""


def test_milabench_does_not_know_what_is_missing(folder: Path) -> None:
    (folder / "b.D1.data").unlink()
    assert report_of([folder], compat_formulas=True).passed
