import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.step_tables import every_rank, slowest_ranks
from milabench_ddp.report.tables.step_tables import steps as steps_of
from milabench_ddp.table import Table
from tests.support.result_files import config, end, job, parts, start, steps, told, write
from tests.support.trained_ranks import trained as job_of


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


def test_the_slowest_the_fastest_and_the_one_with_most_own_work(tmp_path: Path) -> None:
    of = [parts(rank, forward=ms, optimizer=5.0, data=5.0) for rank, ms in enumerate((40, 60, 42))]
    timed = [steps(rank, [100.0 + rank] * 3) for rank in range(3)]
    model = told(model={"mode": "ddp"})
    write(tmp_path, "b.0", job("b", 3), start(), model, *of, *timed, end())
    rows = report_of([tmp_path]).rows
    assert slowest_ranks(rows).rows == (
        ("b", 3, 102.0, "rank 2", 100.0, "rank 0", 70.0, "rank 1", 70.0 / 51.0 - 1, "forward"),
    )
    assert [line[1:5] for line in every_rank(rows).rows] == [
        (f"rank {k}", None, 3, 100.0 + k) for k in range(3)
    ]


def test_each_slow_rank_has_a_line(tmp_path: Path) -> None:
    job_of(4, noise=0.02, slow={1: {"backward": 1.3}, 3: {"backward": 1.6}}).write(tmp_path)
    lines = slowest_ranks(report_of([tmp_path]).rows).rows
    assert [(line[7], line[9]) for line in lines] == [
        ("rank 3", "backward"),
        ("rank 1", "backward"),
    ]
    assert [line[8] for line in lines] == pytest.approx([0.3, 0.15], abs=0.02)


def test_a_rank_that_is_slow_in_a_half_has_it_in_its_line(tmp_path: Path) -> None:
    job = job_of(4, noise=0.02)
    job.parts["backward"][2, 60:] *= 1.6
    job.write(tmp_path)
    (line,) = slowest_ranks(report_of([tmp_path]).rows).rows
    assert line[7:] == ("rank 2", pytest.approx(0.3, abs=0.02), "backward in the second half")


def test_what_cannot_be_compared_is_left_out(tmp_path: Path) -> None:
    """A single rank is left out, and so are devices that each run their own best shape."""
    write(tmp_path, "one.0", job("one", 1), start(), steps(0, [1.0]), end())
    for device in range(2):
        tag = ["f", f"D{device}"]
        tried = told(sweep={"m": 1, "n": 1, "k": 1, "tflop_s": 1.0})
        settings = config("f", device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), tried, steps(0, [1.0 + device]), end())
    assert not slowest_ranks(report_of([tmp_path]).rows)


def test_what_the_instruments_cost(tmp_path: Path) -> None:
    costs = [told(rank, instrument_cost=0.002, instrument_cost_error=0.001) for rank in range(2)]
    write(tmp_path, "b.0", job("b"), start(), steps(0, [1.0] * 20), *costs, end())
    write(tmp_path, "c.0", job("c"), start(), steps(0, [1.0] * 20), end())
    section = steps_table(tmp_path)
    assert section.columns[-1].name == "instruments"
    assert [row[-1] for row in section.rows] == [0.002, pytest.approx(math.nan, nan_ok=True)]
    assert section.rows[0][-1].text(".1%") == "0.20 ±0.10%"
