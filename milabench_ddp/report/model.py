"""The values of a report; its formats only lay them out."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from ..codec import about
from ..events import Outcome
from ..results.records import Payload, Run, is_finite, mapping_or_empty, validates
from ..samples import HostSample
from ..table import Measured
from .compat import MilabenchSummary
from .finding import Checked, Finding, Severity
from .mfu import UNKNOWN, Utilisation
from .monitored import Monitored
from .node_verdict import NodeVerdict
from .process import Processes, ProcessResult, by_launch, counted, ended_ok, is_bandwidth
from .ranks.rank_summary import RankSummary
from .run_info import UNKNOWN_OUTCOME, RunInfo
from .score import NO_SCORE, Score
from .statistics.values import NAN, largest, median
from .told import Told

NODES = "nodes"  # the axis of a matrix
ACCEPTED_FAILURE_RATE = 0.01  # milabench's


class Row(Struct, frozen=True, dict=True):
    """A benchmark: the columns of the main table, and the data of the other tables."""

    name: str
    fail: float  # processes that failed; NaN if unknown, with milabench's formulas
    n: float  # processes
    ngpu: float
    perf: float  # units per second
    sem: float  # fraction of perf
    std: float  # fraction of perf
    peak_memory: float  # MiB
    score: float  # units per second of the whole machine
    weight: float
    enabled: bool = True
    unit: str = ""
    # our own statistics beside the columns, as ``fields`` describes them
    interval: tuple[float, float] | None = None
    interval_holds: str | None = None
    why_no_rate: str = ""
    until: float = 0.0
    observations: int = 0
    warmup_marked: int = 0
    warmup_detected: int = 0
    peak_memory_source: str | None = None
    reporting: int = 0
    launches: int = 0
    per_launch: float = 0.0
    facts: Mapping[str, Payload] = {}
    milabench: MilabenchSummary | None = None  # instead of these, with milabench's formulas
    config: Payload = {}  # as recorded
    ranks: tuple[RankSummary, ...] = ()
    tables: Mapping[str, tuple[Payload, ...]] = {}
    used: Utilisation = UNKNOWN  # of the peak of its devices
    told: Mapping[str, Told] = {}  # the programs' own numbers, by name
    processes: tuple[ProcessResult, ...] = ()  # empty with milabench's formulas
    monitored: tuple[Monitored, ...] = ()  # the devices, as the monitor saw them
    # the samples of each host in the measured steps, by node
    hosts: Mapping[str, Sequence[HostSample]] = {}

    @classmethod
    def unmeasured(
        cls, name: str, fail: float, weight: float, config: Payload, n: float = 0
    ) -> "Row":
        return cls(name, fail, n, 0, NAN, NAN, NAN, NAN, NAN, weight, config=config)

    def reported(self, group: str) -> Payload:
        return self.facts.get(group, {})

    @property
    def counted(self) -> Processes:
        return counted(self.processes)

    @property
    def runs(self) -> list[Run]:
        return list({process.run.path: process.run for process in self.processes}.values())

    @property
    def measuring(self) -> list[Monitored]:
        kept = {process.record.path for process in self.counted}
        return [device for device in self.monitored if device.process.record.path in kept]

    @property
    def validates(self) -> bool:
        """Whether nodes are judged by it."""
        return validates(self.config)

    @property
    def matrix(self) -> Payload:
        return mapping_or_empty(self.config.get("matrix"))

    @property
    def nodes(self) -> int:
        """The number of nodes: from its matrix, else as recorded, else 1."""
        for count in (self.matrix.get(NODES), self.config.get("num_machines")):
            if is_finite(count) and count >= 1:
                return int(count)
        return 1

    def successful_launches(self) -> tuple[int, int]:
        launches = by_launch(self.processes)
        return sum(map(ended_ok, launches)), len(launches)

    @property
    def throughput(self) -> float:
        """Units per second of a whole launch; of bandwidths, which do not add up, ``perf``."""
        if not self.launches or self.is_bandwidth:
            return self.perf
        return self.perf * self.per_launch

    @property
    def is_bandwidth(self) -> bool:
        return is_bandwidth(self.processes)

    @property
    def drift(self) -> float:
        if self.why_no_rate:
            return NAN
        moving = [each.steady.change for each in self.counted if each.steady.problem]
        return max(moving, key=abs, default=NAN)

    @property
    def allocated(self) -> float:
        return largest(rank.allocated for rank in self.ranks)

    @property
    def reserved(self) -> float:
        return largest(rank.reserved for rank in self.ranks)

    @property
    def timed(self) -> list[RankSummary]:
        return [rank for rank in self.ranks if rank.steps]

    @property
    def step_ms(self) -> float:
        """The time of a step in ms: the median over ranks of each rank's median step.

        Without recorded step times, it is the mean that the program reported, or else NaN.
        """
        medians = [rank.median for rank in self.timed]
        return median(medians or [self.reported("model").get("step_ms")])

    def told_mean(self, name: str) -> float:
        return self.told[name].mean if name in self.told else NAN

    @property
    def sides(self) -> tuple[float, float]:
        """From ``perf`` to both ends of its 95 % interval, as fractions; NaN if unknown."""
        if self.interval is None or not self.perf > 0:
            return NAN, NAN
        low, high = self.interval
        return 1 - low / self.perf, high / self.perf - 1

    @property
    def half_width(self) -> float:
        return max(self.sides)

    @property
    def half_width_over_launches(self) -> float:
        """``half_width``, NaN for a single launch: its steps do not tell how the next one is."""
        return self.half_width if self.launches > 1 else NAN

    @property
    def uncertainty(self) -> float:
        """To which digits are cut: ``half_width``, or ``std`` where there is no interval."""
        return self.std if math.isnan(self.half_width) else self.half_width

    def like_perf(self, value: float) -> Measured:
        """A number that is as uncertain as ``perf``, which it is proportional to."""
        return Measured(NAN if self.why_no_rate else value, abs(value) * self.uncertainty)


class Failure(Struct, frozen=True):
    """A process, or a benchmark as a whole, that did not end ok."""

    benchmark: str
    run: Annotated[str, about("the name of the run")]
    tag: Annotated[str | None, about("the process; null: the benchmark as a whole")]
    outcome: str
    reason: str
    rank: Annotated[int | None, about("the one that failed first")] = None
    lines: Annotated[tuple[str, ...], about("the last of this rank, or else of all ranks")] = ()
    whole: Annotated[Path | None, about("the file with the whole output")] = None
    folder: Annotated[Path | None, about("of the run: several can have the same name")] = None
    script: Annotated[Path | None, about("the bash script that repeats its benchmark")] = None


Rows = Sequence[Row]


class Report(Struct, frozen=True):
    """All values of a report."""

    compat: bool
    runs: tuple[RunInfo, ...]
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...] = ()
    findings: tuple[Finding, ...] = ()  # the worst first
    planned: Mapping[str, Payload] = {}  # resolved, by name
    score: Score = NO_SCORE
    checks: tuple[Checked, ...] = ()  # what was looked for
    verdicts: tuple[NodeVerdict, ...] = ()  # on the nodes, of a validation

    @property
    def notes(self) -> list[str]:
        return self._sentences(Severity.NOTE)

    @property
    def warnings(self) -> list[str]:
        return self._sentences(Severity.WARNING)

    @property
    def errors(self) -> list[str]:
        return self._sentences(Severity.ERROR)

    def _sentences(self, severity: Severity) -> list[str]:
        return [found.sentence for found in self.findings if found.severity is severity]

    def findings_of(self, row: Row) -> list[Finding]:
        return [found for found in self.findings if found.benchmark == row.name]

    def has(self, severity: Severity) -> bool:
        return any(found.severity.rank <= severity.rank for found in self.findings)

    def only(self, names: Collection[str]) -> "Report":
        """The part that is about these benchmarks, or with ``""`` about none."""
        return replace(
            self,
            rows=tuple(row for row in self.rows if row.name in names),
            failures=tuple(each for each in self.failures if each.benchmark in names),
            findings=tuple(each for each in self.findings if each.benchmark in names),
        )

    @property
    def goes_on(self) -> bool:
        return any(run.outcome is None for run in self.runs)

    @property
    def unmeasured(self) -> list[str]:
        rows = (row for row in self.rows if not row.why_no_rate)
        return [row.name for row in rows if math.isnan(row.perf)]

    @property
    def has_measured(self) -> bool:
        return len(self.unmeasured) < len(self.rows)

    @property
    def failed(self) -> float:
        return _sum(row.fail for row in self.rows)

    @property
    def tried(self) -> float:
        # for milabench a benchmark that never ran is no process: the rate can exceed 100 %
        if self.compat:
            return _sum(row.n for row in self.rows)
        return _sum(max(row.n, row.fail) for row in self.rows)

    @property
    def failure_rate(self) -> float:
        if not self.failed and not self.tried:
            return NAN
        return self.failed / max(self.tried, 1)

    @property
    def cancelled(self) -> bool:
        return any(run.outcome == Outcome.CANCELLED for run in self.runs)

    @property
    def succeeded(self) -> bool:
        if any(run.outcome not in (Outcome.OK, UNKNOWN_OUTCOME) for run in self.runs):
            return False
        return self.has_measured and not self.unmeasured and not self.failures

    @property
    def passed(self) -> bool:
        """The report's verdict: whether it succeeded, and its numbers may be trusted.

        milabench accepts a few failures, and looks at nothing else.
        """
        if self.compat:
            return self.has_measured and self.failure_rate <= ACCEPTED_FAILURE_RATE
        return self.succeeded and not self.has(Severity.ERROR)


def _sum(values: Iterable[float]) -> float:
    return math.fsum(value for value in values if not math.isnan(value))
