from pathlib import Path

import pytest

from milabench_ddp.report.build import report_of
from milabench_ddp.report.section import Section
from milabench_ddp.report.steps import steps as steps_of
from tests.support.result_files import end, job, parts, start, steps, told, write


def made(folder: Path) -> Section:
    return steps_of(report_of([folder]).rows)


def test_the_step_of_the_median_rank(tmp_path: Path) -> None:
    timed = [steps(rank, [ms] * 19 + [10 * ms]) for rank, ms in enumerate((10.0, 12.0, 90.0))]
    memory = [told(rank, memory_peak=[5.0 - rank, 6.0 + rank]) for rank in range(3)]
    write(tmp_path, "b.0", job("b", 3), start(), *timed, *memory, end())
    section = made(tmp_path)
    assert [column.name for column in section.columns] == [
        "bench", "ms", "p95 ms", "allocated", "reserved",
    ]  # fmt: skip
    ((name, ms, p95, allocated, reserved),) = section.rows
    assert (name, ms, allocated, reserved) == ("b", 12.0, 5.0, 8.0)
    assert p95 == pytest.approx(12.0 + 0.05 * 108.0)


def test_shares_are_means_over_ranks_in_the_order_of_a_step(tmp_path: Path) -> None:
    first = parts(0, optimizer=10.0, forward=30.0, backward=60.0, odd=0.0)
    second = parts(1, optimizer=10.0, forward=50.0, backward=40.0, odd=0.0)
    write(tmp_path, "b.0", job("b"), start(), first, second, end())
    section = made(tmp_path)
    assert [column.name for column in section.columns][3:] == [
        "forward", "backward", "optimizer", "odd",
    ]  # fmt: skip
    assert section.rows[0][3:] == pytest.approx((0.4, 0.5, 0.1, 0.0))


def test_a_mean_that_the_program_told_is_marked(tmp_path: Path) -> None:
    model = told(model={"step_ms": 7.5})
    write(tmp_path, "b.0", job("b"), start(), model, parts(0, forward=1.0, data=1.0), end())
    section = made(tmp_path)
    assert section.rows[0][1] == 7.5
    assert section.notes == ("(ms is the mean, as no step times were recorded: b)",)
