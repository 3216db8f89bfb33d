"""The head of the text report: the verdict, the score, and what was run where."""

import math
import time
from collections.abc import Iterator, Sequence

from ...errors import shown_names
from ...events import Outcome
from ...wrapped import wrapped
from ..model import Report
from ..run_info import RunInfo
from .sections import some

NAMES = 5  # in a sentence


def verdict_lines(report: Report, width: int) -> Iterator[str]:
    """The verdict, and the score if there is one or a baseline was named."""
    yield from _line("Verdict", _verdict(report), width)
    if report.score.baseline is not None or not math.isnan(report.score.value):
        yield from _line("Score", "; ".join(report.score.told), width)


def _verdict(report: Report) -> str:
    """Whether all went well, and what did not."""
    tried, failed = report.tried, report.failed
    if report.passed:
        return f"PASS: {_count(len(report.rows), 'benchmark')}, {_processes(tried)}, none failed"
    if failed:
        names = list(dict.fromkeys(failure.benchmark for failure in report.failures))
        where = f", in {shown_names(names, NAMES)}" if names else ""
        return f"FAIL: {failed:g} of {_processes(tried)} failed ({failed / tried:.0%}){where}"
    if report.goes_on:
        return f"none yet: the run goes on; {_processes(tried)}, none failed so far"
    unmeasured = report.unmeasured
    if not report.has_measured:
        return "FAIL: nothing was measured"
    if unmeasured:
        return f"FAIL: nothing was measured in {shown_names(unmeasured, NAMES)}"
    return f"FAIL: the run was {_outcomes(report)}"


def _processes(count: float) -> str:
    return _count(count, "process", "es")


def _count(count: float, noun: str, plural: str = "s") -> str:
    return f"{count:g} {noun}{plural * (count != 1)}"


def _outcomes(report: Report) -> str:
    outcomes = dict.fromkeys(run.outcome for run in report.runs if run.outcome != Outcome.OK)
    return " and ".join(filter(None, outcomes))


def failure_rate(report: Report) -> str:
    """The rate of failures with the verdict, as milabench tells it."""
    rate = report.failure_rate
    if math.isnan(rate):
        return "none: nothing was measured"
    verdict = "PASS" if report.passed else "FAIL"
    if not rate and not report.passed:
        verdict += ": nothing was measured in every benchmark"
    return f"{rate:10.2%} ({verdict})"


def runs_lines(runs: Sequence[RunInfo], width: int) -> Iterator[str]:
    """What was run, when and where; of several runs what they share is told once."""
    told: dict[str, str] = {}
    for run in runs:
        facts = _facts(run)
        for name, text in facts.items():
            if text and told.get(name) != text:
                yield from _line(name, text, width)
        told |= facts


def _line(name: str, text: str, width: int) -> Iterator[str]:
    return wrapped(text, width, f"{name:8} ")


def _facts(run: RunInfo) -> dict[str, str]:
    outcome = "still going on" if run.outcome is None else run.outcome
    path = str(run.path)
    machine = run.host, run.devices or run.arch, run.cpu, run.version
    return {
        "Run": f"{path}: {outcome}" if outcome else path,
        "State": _states(run),
        "Time": _time(run),
        "Machine": "; ".join(filter(None, machine)),
        "Preset": _preset(run),
        "Order": "" if run.seed is None else f"random: --shuffle --seed {run.seed}",
    }


def _states(run: RunInfo) -> str:
    states = []
    if run.running:
        states.append(f"running: {some(run.running)}")
    # in a run that has ended, a benchmark that waits never ran, and is among the failures
    if run.waiting and run.outcome is None:
        states.append(f"waiting: {some(run.waiting)}")
    return "; ".join(states)


def _time(run: RunInfo) -> str:
    if run.started is None:
        return ""
    text = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(run.started))
    if run.seconds is None:
        return text
    minutes, seconds = divmod(round(run.seconds), 60)
    if minutes:
        return f"{text}, {minutes} min {seconds} s"
    return f"{text}, {run.seconds:.1f} s"


def _preset(run: RunInfo) -> str:
    if run.arch == "cpu" and run.preset:
        return f"{run.preset}, on a CPU: not to be compared with a GPU's numbers"
    if run.preset not in ("full", ""):
        return f"{run.preset}: not to be compared with the full preset's numbers"
    return run.preset
