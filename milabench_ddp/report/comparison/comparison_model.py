"""The values of a comparison; its formats only lay them out."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from ...codec import about
from ..document import Document
from .verdicts import RatioVerdict

ANY_CHANGE = 0.0  # without a threshold, everything that is sure is a change
WITHIN = 0.03  # and "same" is within this


class Unit(StrEnum):
    """What is drawn anew, so that its spread tells how far a rate is from that of the next one.

    It is the run wherever there are several, on a side or in the history: what changes from one run
    to the next, such as the node or the hour, is the same for all launches of a run.
    """

    LAUNCH = "launch"
    PAIR = "pair"  # of launches, of two runs that took turns
    RUN = "run"

    @property
    def several(self) -> str:
        return "launches" if self is Unit.LAUNCH else f"{self}s"


@dataclass(frozen=True)
class ComparedSide:
    """The runs on one side, and what they were measured with."""

    given: Annotated[str, about("as the command line names them")]
    runs: Annotated[tuple[Path, ...], about("the run folders")]
    launches: Annotated[tuple[int, int], about("the fewest of a measured benchmark, and the most")]
    machine: Annotated[str, about("what is known of the first run: devices, host, versions")] = ""


@dataclass(frozen=True)
class SideDifference:
    """Something in which both sides differ."""

    field: Annotated[str, about("such as driver, or gpt-ddp, t5: argv.--batch-size")]
    before: str
    after: str


@dataclass(frozen=True)
class SideRate:
    """What one side measured in a benchmark: the numbers of the report's main table."""

    perf: Annotated[float, about("the mean rate over processes", "units/s")]
    uncertainty: Annotated[float, about("a fraction of perf, to which its digits are cut")]
    launches: Annotated[int, about("launches with a rate")]
    processes: Annotated[float, about("how many there are")]
    failed: Annotated[float, about("processes that failed")]


@dataclass(frozen=True)
class ComparedBenchmark:
    """A benchmark on both sides."""

    name: str
    verdict: RatioVerdict
    unit: Annotated[str, about("of its rates, such as tokens/s")] = ""
    before: Annotated[SideRate | None, about("null if that side has no such benchmark")] = None
    after: Annotated[SideRate | None, about("null if that side has no such benchmark")] = None
    reason: Annotated[str, about("why there is no verdict, or no ratio, and what to do")] = ""
    is_lost: Annotated[bool, about("it was measured before, but not after, or in another unit")] = (
        False
    )
    ratio: Annotated[float | None, about("the rate after over that before")] = None
    interval: Annotated[tuple[float, float] | None, about("the 95 % interval of the ratio")] = None
    interval_holds: Annotated[
        str | None, about("what the interval covers; single launches differ")
    ] = None
    unit_std: Annotated[
        float | None, about("how much launches, pairs or runs differ, as a fraction of the rate")
    ] = None
    p_value: Annotated[
        float | None, about("of a change beyond the threshold, adjusted for all benchmarks")
    ] = None
    could_have_seen: Annotated[
        float | None, about("the smallest slow-down that is found in 90 %, as a fraction")
    ] = None
    needed: Annotated[
        int | None, about("launches, or runs, on each side, to see a slow-down by ``within``")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Comparison(Document):
    """A comparison of two sides, as its JSON has it."""

    before: ComparedSide
    after: ComparedSide
    counts: Annotated[Mapping[RatioVerdict, int], about("how many benchmarks have each verdict")]
    regressions: Annotated[
        tuple[str, ...],
        about(
            "benchmarks that gave no such rate any more, or are slower, where runs, a history or a "
            "threshold say so"
        ),
    ]
    threshold: Annotated[
        float | None, about("slower and faster are by more than this fraction; null: by any")
    ]
    within: Annotated[float, about("same is by less than this fraction")]
    drawn: Annotated[Unit, about("the unit of the verdicts")]
    history: Annotated[tuple[Path, ...], about("more runs, which tell how much runs differ")]
    differences: Annotated[tuple[SideDifference, ...], about("what differs between the two sides")]
    benchmarks: tuple[ComparedBenchmark, ...]
    notes: Annotated[tuple[str, ...], about("what to know about the numbers, as sentences")]

    @property
    def verdicts(self) -> dict[RatioVerdict, int]:
        return {verdict: count for verdict, count in self.counts.items() if count}
