"""The lines of steps, rates, samples and events, from a run whose truth is planted."""

from collections import Counter
from pathlib import Path

import pytest

from milabench_ddp.report.tidy.make_series import (
    event_lines,
    host_sample_lines,
    rate_lines,
    sample_lines,
    step_lines,
)
from milabench_ddp.report.tidy.read_runs import ReportedRun, read_runs
from tests.support.result_files import end, job, rates, start, steps, write
from tests.support.tidy_runs import SLOW, STEADY, WARMUP, make


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ReportedRun:
    (found,) = read_runs([make(tmp_path_factory.mktemp("runs") / "first")])
    return found


def process_of(run: ReportedRun):
    (found,) = (each for each in run.processes if each.record.name == "gpt")
    return found


def test_every_step_of_every_rank_once(run: ReportedRun) -> None:
    made = list(step_lines(run))
    assert Counter(step.rank for step in made) == {0: SLOW + STEADY, 1: SLOW + STEADY}
    second = [step for step in made if step.rank == 1]
    assert [step.step for step in second] == list(range(SLOW + STEADY))
    assert {(s.ms, s.wait_ms, s.forward_ms, s.exposed_communication_ms) for s in second} == {
        (41.0, 1.0, 30.0, 10.0)
    }
    assert {step.host_ms for step in made} == {None}


def test_what_is_steady_is_what_the_numbers_are_of(run: ReportedRun) -> None:
    process = process_of(run)
    told = list(rate_lines(run))
    assert len(told) == WARMUP + SLOW + STEADY
    assert [rate.warmup for rate in told] == [True] * WARMUP + [False] * (SLOW + STEADY)
    steady = [rate.rate for rate in told if rate.steady]
    assert steady == list(process.series.rates)
    assert 0 < len(steady) < SLOW + STEADY  # something was left out
    (row,) = (row for row in run.report.rows if row.name == "gpt")
    of_first = [step for step in step_lines(run) if step.rank == 0]
    assert sum(step.steady for step in of_first) == row.ranks[0].steps


def test_samples_and_which_of_them_are_of_measured_steps(run: ReportedRun) -> None:
    first, second = sample_lines(run)
    assert (first.device, first.power) == ("0", 300.0)
    assert (first.memory, first.memory_total) == (10.0, 100.0)
    assert (first.pcie_out, first.pcie_in, first.nvlink_in) == (5.0, 6.0, None)
    assert (first.measured, second.measured) == (True, False)
    assert second.clock_reasons == "gpu_idle sw_power_cap"
    (host,) = host_sample_lines(run)
    assert (host.cpu, host.memory, host.read, host.written, host.sent) == (0.5, 1.0, 3.0, 4.0, None)


def test_events(run: ReportedRun) -> None:
    made = [(each.tag, each.kind, each.time, each.text) for each in event_lines(run)]
    assert made == [
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
    (run,) = read_runs([tmp_path])
    made = list(step_lines(run))
    assert [step.ms for step in made] == [5.0] * 4 + [6.0] * 4
    assert {step.forward_ms for step in made} == {None}
