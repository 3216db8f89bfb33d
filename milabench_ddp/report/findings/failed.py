"""Findings about benchmarks that did not end ok, by what they failed for."""

from collections import defaultdict

from ...events import NAN_LOSS, NO_RATE, NO_USABLE_RATE
from ..failures import NO_RECORDS
from ..model import Failure, Finding, Findings
from .finder import Measurements

_WITHOUT_RATE = (NO_RATE, NO_USABLE_RATE)
_OF_THEIR_OWN = (*_WITHOUT_RATE, NAN_LOSS, NO_RECORDS)  # the beginnings of reasons


def failed(measured: Measurements) -> Findings:
    """Benchmarks that broke, took too long, were stopped or lost."""
    others = [each for each in measured.failures if not each.reason.startswith(_OF_THEIR_OWN)]
    yield from _by_benchmark(others)


def without_rate(measured: Measurements) -> Findings:
    """Benchmarks that ended, and told no training rate."""
    meant = [each for each in measured.failures if each.reason.startswith(_WITHOUT_RATE)]
    yield from _by_benchmark(meant)


def missing_records(measured: Measurements) -> Findings:
    """Benchmarks some of whose processes ended, and left no file that can be read."""
    yield from _by_benchmark(
        [each for each in measured.failures if each.reason.startswith(NO_RECORDS)]
    )


def nan_losses(measured: Measurements) -> Findings:
    """Benchmarks whose loss became NaN."""
    yield from _by_benchmark([each for each in measured.failures if each.reason == NAN_LOSS])


def _by_benchmark(failures: list[Failure]) -> Findings:
    """The first reason of each benchmark, and how many failures there are."""
    found: dict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        found[failure.benchmark].append(failure)
    for benchmark, alike in found.items():
        first = alike[0]
        sentence = ": ".join(filter(None, (first.tag or benchmark, first.outcome, first.reason)))
        if len(alike) > 1:
            sentence += f" (one of {len(alike)} failures)"
        evidence = {"failures": len(alike), "outcome": first.outcome, "rank": first.rank}
        yield Finding(sentence, benchmark, first.tag or "", evidence)
