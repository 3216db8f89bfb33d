"""The values of a comparison; its formats only lay them out."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .verdicts import RatioVerdict

ANY_CHANGE = 0.0  # without a threshold, everything that is sure is a change
WITHIN = 0.03  # and "same" is within this


class Unit(StrEnum):
    """What is drawn anew, so that its spread tells how far a rate is from that of the next one.

    It is the run wherever there are several, on a side or in the history: what changes from one run
    to the next, such as the node or the hour, is the same for all launches of a run.
    """

    LAUNCH = "launch"
    RUN = "run"

    @property
    def several(self) -> str:
        """The word for more than one."""
        return "launches" if self is Unit.LAUNCH else "runs"


@dataclass(frozen=True)
class ComparedSide:
    """The runs on one side, and what they were measured with."""

    given: str  # as the command line names them
    runs: tuple[Path, ...]
    launches: tuple[int, int]  # the fewest of a benchmark that was measured, and the most
    machine: str = ""  # what is known of the first run: devices, host, versions


@dataclass(frozen=True)
class SideDifference:
    """Something in which both sides differ."""

    field: str  # such as ``driver`` or ``gpt-ddp, bert-ddp: argv.--batch-size``
    before: str
    after: str


@dataclass(frozen=True)
class SideRate:
    """What one side measured in a benchmark: the numbers of the report's main table."""

    perf: float  # units per second
    uncertainty: float  # as a fraction: to which digits are cut
    launches: int  # with a rate
    processes: float
    failed: float  # processes


@dataclass(frozen=True)
class ComparedBenchmark:
    """A benchmark on both sides; None is what is not known."""

    name: str
    verdict: RatioVerdict
    unit: str = ""
    before: SideRate | None = None
    after: SideRate | None = None
    reason: str = ""  # why there is no verdict, or no ratio, and what to do
    is_lost: bool = False  # it was measured before, and is not any more, or in another unit
    ratio: float | None = None  # after over before
    interval: tuple[float, float] | None = None  # of 95 %
    interval_holds: str | None = None  # what it holds: it is not the same for single launches
    unit_std: float | None = None  # how much launches, or runs, differ, as a fraction of the rate
    p_value: float | None = None  # of a change beyond the threshold, adjusted for all benchmarks
    could_have_seen: float | None = None  # the smallest slow-down, found in 90 %, as a fraction
    needed: int | None = None  # launches, or runs, on each side, to see a slow-down by ``within``


@dataclass(frozen=True)
class Comparison:
    """All values of a comparison."""

    before: ComparedSide
    after: ComparedSide
    threshold: float  # slower and faster: by more than this fraction
    within: float  # same: by less than this fraction
    drawn: Unit  # what the verdicts are over
    history: tuple[Path, ...]  # runs that tell how much runs differ, and nothing else
    differences: tuple[SideDifference, ...]
    benchmarks: tuple[ComparedBenchmark, ...]
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[RatioVerdict, int]:
        """How many benchmarks have each of the verdicts, without those that none has."""
        found = Counter(each.verdict for each in self.benchmarks)
        return {verdict: found[verdict] for verdict in RatioVerdict if found[verdict]}

    @property
    def regressions(self) -> list[str]:
        """Those that are slower by more than the threshold, or gave no such rate any more."""
        found = []
        for each in self.benchmarks:
            if each.verdict is RatioVerdict.SLOWER or each.is_lost:
                found.append(each.name)
        return found
