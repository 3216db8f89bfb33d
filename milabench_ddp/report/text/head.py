"""The head of the text report: the verdict, the score, and what was run where."""

import math
from collections.abc import Iterator, Sequence

from ...wrapped import wrapped
from ..model import Report
from ..run_info import RunInfo
from ..sentences import run_facts, score, verdict


def verdict_lines(report: Report, width: int) -> Iterator[str]:
    """The verdict, and the score if there is one or it was asked for."""
    yield from _line("Verdict", verdict(report), width)
    if report.score.is_told:
        yield from _line("Score", score(report), width)


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
        facts = run_facts(run)
        for name, text in facts.items():
            if text and told.get(name) != text:
                yield from _line(name, text, width)
        told |= facts


def _line(name: str, text: str, width: int) -> Iterator[str]:
    return wrapped(text, width, f"{name:8} ")
