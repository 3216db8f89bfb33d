import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.step_tables import steps as steps_of
from milabench_ddp.table import Table
from tests.support.result_files import end, job, parts, start, steps, told, write


def steps_table(folder: Path) -> Table:
    return steps_of(report_of([folder]).rows)


def test_the_step_of_the_median_rank(tmp_path: Path) -> None:
    timed = [steps(rank, [ms] * 19 + [10 * ms]) for rank, ms in enumerate((10.0, 12.0, 90.0))]
    memory = [told(rank, memory_peak=[5.0 - rank, 6.0 + rank]) for rank in range(3)]
    write(tmp_path, "b.0", job("b", 3), start(), *timed, *memory, end())
    section = steps_table(tmp_path)
    assert [column.name for column in section.columns] == [
        "benchmark", "ms", "p95 ms", "allocated", "reserved",
    ]  # fmt: skip
    ((name, ms, p95, allocated, reserved),) = section.rows
    assert (name, ms, allocated, reserved) == ("b", 12.0, 5.0, 8.0)
    assert p95 == pytest.approx(12.0 + 0.05 * 108.0)


def test_shares_are_means_over_ranks_in_the_order_of_a_step(tmp_path: Path) -> None:
    first = parts(0, optimizer=10.0, forward=30.0, backward=60.0, odd=0.0)
    second = parts(1, optimizer=10.0, forward=50.0, backward=40.0, odd=0.0)
    write(tmp_path, "b.0", job("b"), start(), first, second, end())
    section = steps_table(tmp_path)
    assert [column.name for column in section.columns][3:] == [
        "forward", "backward", "optimizer", "odd",
    ]  # fmt: skip
    assert section.rows[0][3:] == pytest.approx((0.4, 0.5, 0.1, 0.0))


@pytest.mark.parametrize(("ms", "titles"), [(0.4, []), (0.6, ["host"])])
def test_what_communicates_and_the_rest_of_the_loop(
    tmp_path: Path, ms: float, titles: list[str]
) -> None:
    told_parts = {"exposed_communication": 20.0, "forward_backward": 80.0 - ms, "host": ms}
    write(tmp_path, "b.0", job("b"), start(), parts(0, **told_parts), end())
    section = steps_table(tmp_path)
    names = [column.name for column in section.columns]
    assert names[3:] == ["forward+backward", "exposed", *titles]


def test_a_mean_that_the_program_told_is_marked(tmp_path: Path) -> None:
    model = told(model={"step_ms": 7.5})
    write(tmp_path, "b.0", job("b"), start(), model, parts(0, forward=1.0, data=1.0), end())
    section = steps_table(tmp_path)
    assert section.rows[0][1] == 7.5
    assert section.notes == ("(ms is the mean, as no step times were recorded: b)",)


def test_what_the_instruments_cost(tmp_path: Path) -> None:
    costs = [told(rank, instrument_cost=0.002, instrument_cost_error=0.001) for rank in range(2)]
    write(tmp_path, "b.0", job("b"), start(), steps(0, [1.0] * 20), *costs, end())
    write(tmp_path, "c.0", job("c"), start(), steps(0, [1.0] * 20), end())
    section = steps_table(tmp_path)
    assert section.columns[-1].name == "instruments"
    assert [row[-1] for row in section.rows] == [0.002, pytest.approx(math.nan, nan_ok=True)]
    assert section.rows[0][-1].text(".1%") == "0.20 ±0.10%"
