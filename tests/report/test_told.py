"""Numbers that programs tell: over processes, ranks and repeats, in the steady state."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Row
from milabench_ddp.report.sweeps.metrics import metric_of
from milabench_ddp.report.told import TFLOPS, Told
from tests.support.result_files import (
    config,
    end,
    job,
    parts,
    rate,
    rates,
    start,
    steps,
    told,
    write,
)

OK = end(0, outcome="ok", reason="")
FAILED = end(1, outcome="failed", reason="exit status 1")
RAMP = [50.0] * 10 + [100.0 + 0.1 * (k % 3) for k in range(30)]


def only_row(folder: Path) -> Row:
    (row,) = report_of([folder]).rows
    return row


def shown(name: str, row: Row) -> str:
    return metric_of(name, [row], lambda _: True).cell(row).text


def test_the_mean_and_the_deviation() -> None:
    assert (Told((1.0, 3.0)).mean, Told((1.0, 3.0)).std) == (2.0, 1.0)
    assert math.isnan(Told((1.0,)).std)
    assert Told((7, 7)).mean == 7
    assert isinstance(Told((7, 7)).mean, int)


def test_any_key_of_any_rank_process_and_repeat(tmp_path: Path) -> None:
    """Two repeats on two devices, and two ranks in each: eight values, 1 to 8."""
    values = iter(range(1, 9))
    for repeat in range(2):
        for device in range(2):
            tag = ["b", f"R{repeat}", f"D{device}"]
            lines = [told(rank, odd_key=next(values)) for rank in range(2)]
            settings = config("b", device=device, tag=tag)
            write(tmp_path, ".".join(tag), settings, start(), rates([1.0] * 4), *lines, OK)
    row = only_row(tmp_path)
    assert row.told["odd_key"].values == (1, 2, 3, 4, 5, 6, 7, 8)
    assert shown("odd_key", row) == "4.5 ±2.3"


def test_a_number_of_each_step_is_that_of_the_steady_state(tmp_path: Path) -> None:
    lines = [rate(value, steps=1) + told(norm=9.0 if value == 50.0 else 2.0) for value in RAMP]
    write(tmp_path, "b.0", job("b"), start(), told(norm=1.0, warmup=True), *lines, OK)
    assert only_row(tmp_path).told["norm"].mean == 2.0


@pytest.mark.parametrize("values", [RAMP, [10.0, 100.0] * 20])
def test_a_speed_that_is_told_with_each_rate_agrees_with_the_rate(
    tmp_path: Path, values: list[float]
) -> None:
    """A tenth of each rate, and the time of each step."""
    lines = []
    for value in values:
        lines.append(rate(value, steps=1, tflops_per_gpu=value / 10, step_ms=1000 / value))
    write(tmp_path, "b.0", job("b"), start(), *lines, OK)
    row = only_row(tmp_path)
    assert row.told[TFLOPS].mean == pytest.approx(row.perf / 10)
    assert row.told["step_ms"].mean == pytest.approx(1000 / row.perf)


def test_the_groups_of_a_line(tmp_path: Path) -> None:
    lines = told(model={"build_s": 2.0, "name": "x"}, memory_estimate={"total": 5.0}, ok=True)
    write(tmp_path, "b.0", job("b"), start(), rates([1.0] * 4, step=3), lines, OK)
    assert set(only_row(tmp_path).told) == {"build_s", "memory_estimate.total"}


def test_speed_is_that_of_the_steady_state_as_perf_is(tmp_path: Path) -> None:
    """Told over all steps: 10 of 20 ms and 30 of 10 ms, 12.5 ms a step, 8 TFLOP/s, truly 10."""
    times = [1e3 / value for value in RAMP]
    of = [{"forward": ms / 4, "backward": ms / 2, "optimizer": ms / 4} for ms in times]
    for k in range(10):
        of[k] = {"forward": 15.0, "backward": 4.0, "optimizer": 1.0}
    lines = [
        told(model={"mode": "ddp", "step_ms": 12.5, "tflops_per_gpu": 8.0}),
        parts(0, forward=5.6, backward=4.8, optimizer=2.1),
        steps(0, times, parts={name: [one[name] for one in of] for name in of[0]}),
    ]
    write(tmp_path, "b.0", job("b"), start(), rates(RAMP, steps=1), *lines, OK)
    row = only_row(tmp_path)
    assert row.perf == pytest.approx(100.1, rel=1e-3)
    assert row.told[TFLOPS].mean == pytest.approx(10.0, rel=2e-3)
    assert row.told["step_ms"].mean == pytest.approx(9.99, rel=2e-3)
    (rank,) = row.ranks
    assert rank.shares == pytest.approx(
        {"forward": 0.25, "backward": 0.5, "optimizer": 0.25, "data": 0.0}, abs=1e-6
    )
    assert rank.local_ms == pytest.approx(5.0, rel=2e-3)
    assert shown("forward", row) == "0.25"


@pytest.mark.parametrize("dead", [0, 3, 7])
def test_a_failed_process_is_in_no_number(tmp_path: Path, dead: int) -> None:
    for device in range(8):
        tag = ["b", f"D{device}"]
        speed, ended = (1.0, FAILED) if device == dead else (10.0, OK)
        lines = rates([speed] * 4), told(model={"tflops_per_gpu": speed}), steps(0, [speed] * 4)
        write(tmp_path, ".".join(tag), config("b", device=device, tag=tag), start(), *lines, ended)
    row = only_row(tmp_path)
    assert (row.perf, row.told[TFLOPS].mean, row.step_ms) == (10.0, 10.0, 10.0)
    assert (row.n, row.fail, len(row.ranks)) == (8, 1, 7)


def test_where_all_failed_it_is_what_they_measured(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b"), start(), rates([3.0] * 4), FAILED)
    assert only_row(tmp_path).perf == 3.0
