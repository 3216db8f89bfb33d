"""The frames of steps, rates, samples and events, from a run whose truth is planted."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from milabench_ddp.report import frames
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report
from milabench_ddp.report.process import Processes
from tests.support.exported_runs import SLOW, STEADY, WARMUP, make
from tests.support.result_files import end, job, rates, start, steps, write


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_of([make(tmp_path_factory.mktemp("runs") / "first")])


def processes_of(run: Report) -> Processes:
    return [process for row in run.rows for process in row.processes]


def lines(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.to_dicts()


def test_every_step_of_every_rank_once(run: Report) -> None:
    made = frames.steps(processes_of(run))
    assert Counter(made["rank"].to_list()) == {0: SLOW + STEADY, 1: SLOW + STEADY}
    second = made.filter(rank=1)
    assert second["step"].to_list() == list(range(SLOW + STEADY))
    times = second.select("ms", "wait_ms", "forward_ms", "exposed_communication_ms")
    assert times.unique().rows() == [(41.0, 1.0, 30.0, 10.0)]
    assert made["host_ms"].unique().to_list() == [None]


def test_what_is_steady_is_what_the_numbers_are_of(run: Report) -> None:
    (process,) = (each for each in processes_of(run) if each.record.name == "gpt")
    told = frames.rates(processes_of(run))
    assert told["warmup"].to_list() == [True] * WARMUP + [False] * (SLOW + STEADY)
    steady = told.filter("steady")["rate"].to_list()
    assert steady == list(process.series.rates)
    assert 0 < len(steady) < SLOW + STEADY  # something was left out
    (row,) = (row for row in run.rows if row.name == "gpt")
    of_first = frames.steps(processes_of(run)).filter(rank=0)
    assert of_first["steady"].sum() == row.ranks[0].steps


def test_samples_and_which_of_them_are_of_measured_steps(run: Report) -> None:
    first, second = lines(frames.samples(processes_of(run)))
    assert (first["device"], first["power"]) == ("0", 300.0)
    assert (first["memory"], first["memory_total"]) == (10.0, 100.0)
    assert (first["pcie_out"], first["pcie_in"], first["nvlink_in"]) == (5.0, 6.0, None)
    assert (first["measured"], second["measured"]) == (True, False)
    assert second["clock_reasons"] == "gpu_idle sw_power_cap"
    (host,) = lines(frames.host_samples(processes_of(run)))
    assert (host["cpu"], host["memory"], host["read"], host["written"]) == (0.5, 1.0, 3.0, 4.0)
    assert host["sent"] is None


def test_events(run: Report) -> None:
    made = frames.events(processes_of(run))
    assert made.select("tag", "kind", "time", "text").rows() == [
        ("flops.D0", "start", 1095.0, ""),
        ("flops.D0", "error", None, 'ValueError: no, "sir"'),
        ("flops.D0", "end", 1100.0, "exit status 1"),
        ("gpt.0", "start", 990.0, ""),
        ("gpt.0", "device_problem", 1070.0, "GPU 1 has fallen off the bus"),
        ("gpt.0", "end", 1090.0, ""),
    ]


@pytest.mark.parametrize("count", [4, 9])
def test_a_part_that_is_not_told_once_in_each_step_is_not_laid_beside_the_steps(
    tmp_path: Path, count: int
) -> None:
    told = steps(0, [5.0] * 4) + steps(0, [6.0] * 4, first=4, parts={"forward": [1.0] * count})
    write(tmp_path, "b.0", job("b"), start(), rates([9.0] * 8), told, end())
    made = frames.steps(processes_of(report_of([tmp_path])))
    assert made["ms"].to_list() == [5.0] * 4 + [6.0] * 4
    assert made["forward_ms"].unique().to_list() == [None]
