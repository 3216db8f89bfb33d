"""Findings about benchmarks that did not end ok, by what they failed for."""

from collections import defaultdict

from msgspec.structs import replace

from ...events import NAN_LOSS, NO_RATE, NO_USABLE_RATE, Outcome
from ..failures import NO_RECORDS
from ..finding import Finding, Findings
from ..model import Failure
from .finder import Measurements

_WITHOUT_RATE = (NO_RATE, NO_USABLE_RATE)
_OF_THEIR_OWN = (*_WITHOUT_RATE, NAN_LOSS, NO_RECORDS)  # the beginnings of reasons


def failed(measured: Measurements) -> Findings:
    """Benchmarks that broke, took too long, or were lost; not those that a person cancelled."""
    others = [
        each
        for each in measured.failures
        if each.outcome != Outcome.CANCELLED and not each.reason.startswith(_OF_THEIR_OWN)
    ]
    yield from _by_benchmark(measured, others)


def without_rate(measured: Measurements) -> Findings:
    """Benchmarks that ended, and told no training rate."""
    meant = [each for each in measured.failures if each.reason.startswith(_WITHOUT_RATE)]
    yield from _by_benchmark(measured, meant)


def missing_records(measured: Measurements) -> Findings:
    """Benchmarks some of whose processes ended, and left no file that can be read."""
    missing = [each for each in measured.failures if each.reason.startswith(NO_RECORDS)]
    yield from _by_benchmark(measured, missing)


def nan_losses(measured: Measurements) -> Findings:
    """Benchmarks whose loss became NaN."""
    meant = [each for each in measured.failures if each.reason == NAN_LOSS]
    yield from _by_benchmark(measured, meant)


def _by_benchmark(measured: Measurements, failures: list[Failure]) -> Findings:
    """The first reason of each benchmark, and how many failures there are.

    Each node tells what it saw of a job; only the verdict on the whole knows which came first.
    """
    found: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        found[failure.benchmark].append(failure)
    for benchmark, alike in found.items():
        first, who = alike[0], alike[0].tag or benchmark
        if len(alike) > 1 and (reason := _of_the_whole(measured, first)):
            first, who = replace(first, reason=reason, rank=None), benchmark
        sentence = ": ".join(filter(None, (who, first.outcome, first.reason)))
        if len(alike) > 1:
            sentence += f" (one of {len(alike)} failures)"
        evidence = {"failures": len(alike), "outcome": first.outcome, "rank": first.rank}
        yield Finding(sentence, benchmark, first.tag or "", evidence)


def _of_the_whole(measured: Measurements, failure: Failure) -> str:
    """The reason of the benchmark of a failure, if it ended alike; empty if it is not known."""
    for run in measured.runs:
        if run.path == failure.folder and run.state is not None:
            state = run.state.benchmarks.get(failure.benchmark)
            if state is not None and state.status == failure.outcome:
                return state.reason
    return ""
