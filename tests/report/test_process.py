from pathlib import Path

import pytest

from milabench_ddp.events import NO_USABLE_RATE
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.process import ProcessResult
from milabench_ddp.results.read_run import read_run
from tests.support.result_files import config, end, job, line, loss, rate, rates, start, write


def result(run: Path, *lines: str) -> ProcessResult:
    write(run, "b.R1.D0", config("b", tag=["b", "R1", "D0"]), start(), *lines)
    found = read_run(run)
    return ProcessResult(found, found.records[0])


@pytest.mark.parametrize(
    ("lines", "outcome", "reason"),
    [
        ([rates([1.0]), end(0, outcome="ok")], "ok", ""),
        ([rates([1.0]), end(0, outcome="timeout", reason="9 s")], "timeout", "9 s"),
        ([rates([1.0]), end(0)], "ok", ""),
        ([rates([1.0]), end(3)], "failed", "exit status 3"),
        ([rates([1.0]), end(-9)], "failed", "killed by SIGKILL"),
        ([rates([1.0]), end("odd")], "failed", "exit status odd"),
        ([end(0)], "failed", "exit status 0, but it told no rate: nothing was measured"),
        ([rates([1.0]), loss(float("nan")), end(0)], "failed", "the loss became NaN"),
        ([rates([1.0])], "lost", "its file has no end: it was cut off"),
    ],
)
def test_how_a_process_ended(tmp_path: Path, lines: list[str], outcome: str, reason: str) -> None:
    process = result(tmp_path, *lines)
    assert process.verdict is not None
    assert (process.verdict.outcome, process.verdict.reason) == (outcome, reason)
    assert process.status == outcome
    assert process.failed is (outcome != "ok")


def test_a_process_without_an_end_has_steady_observations_too(tmp_path: Path) -> None:
    assert result(tmp_path, rates([5.0])).series is not None


def test_a_launch_is_a_run_and_a_repeat(tmp_path: Path) -> None:
    assert result(tmp_path, rates([1.0])).launch == (str(tmp_path), "R1")


def test_warm_up_and_damaged_rates_are_not_measured(tmp_path: Path) -> None:
    process = result(
        tmp_path, rate(1.0, warmup=True), rates([2.0, 3.0]), rate(None), rate(-1.0), end(0)
    )
    assert process.measured.lines.rate.tolist() == [2.0, 3.0]
    assert process.warmup_marked == 1


def test_an_observation_weighs_as_much_as_it_took(tmp_path: Path) -> None:
    process = result(tmp_path, rate(10.0, steps=5), rate(20.0, steps=5), end(0))
    assert process.series is not None
    assert list(process.series.rates) == [10.0, 20.0]
    assert list(process.series.seconds) == [0.5, 0.25]


def test_observations_of_unknown_length_are_for_the_same_work(tmp_path: Path) -> None:
    process = result(tmp_path, rate(10.0, steps=5), rate(20.0), end(0))
    assert process.series is not None
    assert list(process.series.seconds) == [1.0, 0.5]


def test_nothing_measured_is_no_series(tmp_path: Path) -> None:
    assert result(tmp_path, rate(1.0, warmup=True), end(0)).series is None


def test_the_steps_before_the_steady_state(tmp_path: Path) -> None:
    slow, level = [10.0] * 4, [100.0 + k % 3 for k in range(40)]
    process = result(tmp_path, rates([*slow, *level], steps=3), end(0))
    assert process.steady.start >= 4
    assert process.unsteady_of(132) == 3 * process.steady.start
    unknown = result(tmp_path, rates([*slow, *level]), end(0))
    assert unknown.unsteady_of(44 * 5) == 5 * unknown.steady.start


BAD_RATES = [
    line("data", {"rate": 5.0}, "data"),
    *(rate(value) for value in (-1.0, 0, float("nan"), float("inf"), "5", True, None)),
]


@pytest.mark.parametrize("bad", BAD_RATES)
def test_a_recorded_ok_without_a_usable_rate_is_a_failure(tmp_path: Path, bad: str) -> None:
    process = result(tmp_path, bad, bad, end(0, outcome="ok"))
    assert process.verdict is not None
    assert process.verdict.outcome == "failed"
    assert process.verdict.reason.startswith(f"{NO_USABLE_RATE}: 2 ")
    assert result(tmp_path, bad, rate(1.0), end(0, outcome="ok")).failed is False


def test_a_timeout_stays_one_without_a_usable_rate(tmp_path: Path) -> None:
    assert result(tmp_path, rate(-1.0), end(0, outcome="timeout")).status == "timeout"


def test_any_node_of_a_job_may_report(tmp_path: Path) -> None:
    for tag, told in (("b.0.n0", ""), ("b.0.n1.nolog", rate(1.0))):
        settings = job("b", 2, 2, tag=tag.split("."))
        write(tmp_path, tag, settings, start(), told, end(0, outcome="ok"))
    run = read_run(tmp_path)
    assert [ProcessResult(run, record).status for record in run.records] == ["ok", "ok"]


def test_a_line_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    once = [rate(10.0, step=0, time=1000.0), rate(30.0, step=1, time=1001.0)]
    write(tmp_path, "b.D0", config("b"), start(), *once, once[0], once[0], end(0, outcome="ok"))
    report = report_of([tmp_path])
    assert report.rows[0].perf == pytest.approx(15.0)
    assert any("is written twice: left out; and 1 more" in text for text in report.warnings)
    compat = report_of([tmp_path], compat_formulas=True)
    assert compat.rows[0].perf == pytest.approx((10 * 3 + 30) / 4)
