"""Findings about benchmarks that did not end ok, and about processes that they left behind."""

from ...errors import shown_names
from ...events import NAN_LOSS, NO_RATE, NO_USABLE_RATE, Outcome
from ...grouping import grouped
from ..failure_causes import cause_of
from ..failures import NO_RECORDS, decisive_failure
from ..model import Failure
from .finder import Finds, Found, Measurements, finding

FAILURE = "{who}[: {outcome}][: {reason}][ (one of {several} failures)]"
# The beginnings of reasons that have a finding of their own.
OWN = {
    NO_RATE: "no_rate",
    NO_USABLE_RATE: "no_rate",
    NO_RECORDS: "missing_records",
    NAN_LOSS: "nan_loss",
}
OF_CAUSES = frozenset({"failed", *OWN.values()})  # a report tells the causes of these instead


@finding(
    "error",
    FAILURE,
    "see its last lines (report --failures)",
    layer="error",
    section="output",
)
def failed(measured: Measurements) -> Finds:
    """Benchmarks that broke, took too long, or were lost; not those that a person cancelled."""
    return _by_benchmark(measured, "failed")


@finding("error", FAILURE, layer="ensure_rate", section="output")
def no_rate(measured: Measurements) -> Finds:
    return _by_benchmark(measured, "no_rate")


@finding("error", FAILURE, layer="planning")
def missing_records(measured: Measurements) -> Finds:
    """Benchmarks some of whose processes ended, and left no file that can be read."""
    return _by_benchmark(measured, "missing_records")


# They use its devices and cores, so its numbers and later ones may be too low.
@finding(
    "error",
    "{benchmark}: {count} of {of} {verb} beside {beside}: SIGKILL did not end {names}",
    "see where they wait (/proc/PID/stack, dmesg) or whose they are (ps), and measure again",
)
def survivors(measured: Measurements) -> Finds:
    """Processes that SIGKILL did not end: of a benchmark, and of earlier ones beside it."""
    for run in measured.states:
        for name, state in run.benchmarks.items():
            every = [each for launch in state.launches for each in launch.survivors]
            found = grouped((each.benchmark, each.pid) for each in every)
            for whose, repeated in sorted(found.items()):
                pids = sorted(set(repeated))
                yield Found(
                    "",
                    {"of": whose, "pids": pids},
                    words={
                        "count": f"{len(pids)} processes" if len(pids) > 1 else "1 process",
                        "verb": "run" if len(pids) > 1 else "runs",
                        "beside": "what follows" if whose == name else "it",
                        "names": shown_names(list(map(str, pids))),
                    },
                    benchmark=name,
                )


@finding("error", FAILURE, layer="loss")
def nan_loss(measured: Measurements) -> Finds:
    return _by_benchmark(measured, "nan_loss")


def _by_benchmark(measured: Measurements, name: str) -> Finds:
    configs = {row.name: row.config for row in measured.rows}
    meant = [failure for failure in measured.failures if _finding_of(failure) == name]
    for benchmark, failures in grouped((each.benchmark, each) for each in meant).items():
        first = decisive_failure(benchmark, failures, measured.runs) or failures[0]
        count = len(failures)
        who = first.tag if first.tag and first in failures else benchmark
        words = {"who": who, "reason": first.reason, "several": count if count > 1 else None}
        evidence = {"failures": count, "outcome": first.outcome, "rank": first.rank}
        _, advice = cause_of(first, configs.get(benchmark, {}))
        yield Found(first.tag or "", evidence, words, benchmark, advice=advice)


def _finding_of(failure: Failure) -> str:
    for beginning, name in OWN.items():
        if failure.reason.startswith(beginning):
            return name
    return "" if failure.outcome == Outcome.CANCELLED else "failed"
