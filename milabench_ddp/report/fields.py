"""The numbers of a benchmark: each is declared here alone.

To add one, add a line to ``BENCHMARK``. The main table, its order, what stays of it, the document
and its schema, the export, ``--sort`` and the metrics of sweeps are selections of these lines.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any

from msgspec import Struct, defstruct

from ..codec import about, encode
from ..results.records import Payload
from ..table import Measured
from .clocks import held_down, sm_clock
from .energy import UNKNOWN, Energy, energy_of_row
from .failures import CellState
from .mfu import of_data_sheet
from .model import Row
from .ranks.rank_launch import EXPOSED
from .statistics.interval import ROUNDING
from .statistics.values import NAN, mean, median

FEW = 0.005  # of a step, below which the host has no column
HOST = "host"
EVERYWHERE, DOCUMENT, EXPORT, TABLE = "", "document", "export", "table"  # where a field is
RATE, PEAK = "rate", "peak"
NEITHER = NAN, NAN


class ReportedBenchmark(Struct, frozen=True, dict=True):
    """A benchmark in a report, with what only the whole report knows of it."""

    row: Row
    state: CellState = CellState("ok")
    efficiency: float = NAN
    efficiency_error: float = NAN
    efficiency_note: str = ""
    commands: tuple[str, ...] = ()  # those that repeat it, by run

    @cached_property
    def energy(self) -> Energy:
        return energy_of_row(self.row) or UNKNOWN

    @property
    def p95(self) -> float:
        """What 95 of 100 steps do not exceed, in ms: the median over ranks."""
        return median(rank.p95 for rank in self.row.timed)

    @property
    def step_stdev(self) -> float:
        return median(rank.std for rank in self.row.timed)


class Field(Struct, frozen=True):
    """A number or a text of a benchmark, of a rank or of a document, and where it is shown."""

    name: str  # in the document and the export
    meaning: str
    # how the value is found: a path in what has it, such as a ``ReportedBenchmark``, or a function
    # of that; empty: the name; of a share of the step, its parts
    path: str | Callable[[Any], Any] = ""
    unit: str = ""
    kind: Any = float
    heading: str = ""  # of its column in the main table; empty: it has none
    format: str = ""  # there
    width: int = 0  # there with milabench's formulas; 0: milabench has no such column
    stays: int = 0  # columns with a smaller number stay longer where not all have room
    silent: object = None  # the value that says nothing, if all rows have it
    sort: str = ""  # the word of ``--sort``; empty: none
    metric: str = ""  # its name as a metric of sweeps; empty: it is none
    like: str = ""  # what it is proportional to, and as uncertain as: the rate, and the peak
    spread: str = ""  # the path of the spread of the metric
    stdev: str = ""  # the path of the deviation of the steps behind it
    places: str = EVERYWHERE  # else: only in the document, the export or the table

    @property
    def annotation(self) -> object:
        return Annotated[self.kind, about(self.meaning, self.unit)] if self.meaning else self.kind

    def of(self, subject: Any) -> Any:
        if self.like and subject.row.why_no_rate:
            return NAN
        if callable(self.path):
            return self.path(subject)
        if self.places == TABLE:
            return _share(subject.row, self.path.split())
        return attrgetter(self.path or self.name)(subject)

    def in_table(self, row: Row) -> object:
        if self.name == "perf":
            return perf_of(row)
        value = self.of(ReportedBenchmark(row))
        if self.like == PEAK:
            return of_peak(row, value)
        return row.like_perf(value) if self.like == RATE else value


def in_place(fields: Iterable[Field], place: str) -> tuple[Field, ...]:
    return tuple(each for each in fields if each.places in (EVERYWHERE, place))


def perf_of(row: Row) -> Measured:
    below, above = row.sides if row.half_width >= 0 else (row.uncertainty, row.uncertainty)
    return Measured(
        row.perf,
        row.perf * below,
        row.perf * above,
        with_error=row.half_width < 1,  # what is wider, of two launches, tells nothing
        is_asked=row.half_width <= row.until * (1 + ROUNDING),
    )


def of_peak(row: Row, share: float) -> Measured:
    """An MFU, with its ``±`` where its peak has an interval, by the ``uncertainty`` of the rate."""
    error = share * math.hypot(row.uncertainty, row.used.peak_error)
    return row.like_perf(share) if math.isnan(error) else Measured(share, error, with_error=True)


def share_of(row: Row, part: str) -> float:
    """The part's share of a step, as the mean over ranks; NaN if it is not known."""
    return mean(rank.shares.get(part) for rank in row.ranks)


def _share(row: Row, parts: Sequence[str]) -> float:
    known = [share for part in parts if not math.isnan(share := share_of(row, part))]
    is_shown = known and (parts != [HOST] or sum(known) >= FEW)
    return math.fsum(known) if is_shown else NAN


STATES = (
    "ok, failed, oom, Traceback, timeout, cancelled, lost, not begun, skipped, running, waiting.."
)
PASSES = "forward backward forward_backward"

# fmt: off
BENCHMARK: tuple[Field, ...] = (
    Field("name", "the benchmark", "row.name", kind=str, heading="benchmark", sort="name",
          places=DOCUMENT),
    Field("state", STATES, "state.word", kind=str),
    Field("reason", "of its state; empty if it is ok", "state.reason", kind=str),
    Field("enabled", "whether it is part of the suite's score", "row.enabled", kind=bool),
    Field("fail", "processes that failed", "row.fail", heading="fail", format=".0f", width=4,
          stays=1, silent=0.0, sort="fail"),
    Field("n", "processes", "row.n", heading="n", format=".0f", width=3, stays=7),
    Field("ngpu", "devices", "row.ngpu", heading="ngpu", format=".0f", width=4, stays=9),
    Field("nodes", "nodes", "row.nodes", kind=int),
    Field("perf", "the mean rate over processes", "row.perf", "units/s", heading="perf",
          format=".2f", width=10, stays=2, sort="perf", metric="perf", like=RATE),
    Field("unit", "of perf and score, such as tokens/s", lambda of: of.row.unit or None,
          kind=str | None, heading="unit",
          stays=4),
    Field("drift", "by which part a rate still moves; null where all are steady", "row.drift",
          heading="drift", format="+.1%", stays=8, sort="drift"),
    Field("step_ms", "the median over ranks of each rank's median step", "row.step_ms", "ms",
          heading="ms", format=".4g", stays=5, sort="ms", metric="latency", like=RATE,
          stdev="step_stdev"),
    Field("step_ms_p95", "what 95 of 100 steps do not exceed, the median over ranks", "p95", "ms",
          heading="p95 ms", format=".4g", stays=13, like=RATE),
    Field("mfu", "model FLOPs as a share of the measured peak", "row.used.mfu", heading="MFU",
          format=".1%", stays=6, sort="mfu", metric="mfu", like=PEAK),
    Field("mfu_error", "half of its 95 % interval, by those of perf and the peak",
          lambda of: of_peak(of.row, of.row.used.mfu).error),
    Field("mfu_of_data_sheet", "model FLOPs as a share of what the data sheet promises",
          lambda of: of_data_sheet(of.row.counted), metric="mfu_of_data_sheet", like=RATE),
    Field("hfu", "the same, with the FLOPs of recomputation", "row.used.hfu"),
    Field("data", "", "data", heading="data", format=".0%", stays=14, places=TABLE),
    Field("compute", "", PASSES, heading="compute", format=".0%", stays=15, places=TABLE),
    Field("exposed", "", EXPOSED, heading="exposed", format=".0%", stays=10, places=TABLE),
    Field("optimizer", "", "optimizer", heading="optimizer", format=".0%", stays=16, places=TABLE),
    Field("host", "", HOST, heading="host", format=".0%", stays=17, places=TABLE),
    Field("std", "the standard deviation of the rates, as a fraction of perf", "row.std",
          heading="std%", format=".1%", width=6, stays=18, sort="std", metric="std"),
    Field("sem", "the standard error of perf, as a fraction of it", "row.sem", heading="sem%",
          format=".1%", width=6, stays=22, metric="sem"),
    Field("peak_memory", "the most memory in use on a device", "row.peak_memory", "MiB",
          heading="peak_memory", format=".0f", width=11, stays=11, sort="memory", metric="memory"),
    Field("score", "the rate of all devices; what failed counts as 0", "row.score", "units/s",
          heading="score", format=".2f", width=10, stays=20, metric="score", like=RATE),
    Field("weight", "in the suite's score", "row.weight", heading="weight", format=".2f", width=6,
          stays=21, silent=1.0),
    Field("sm_clock", "the mean SM clock in the measured steps",
          lambda of: sm_clock(of.row.measuring), "MHz", heading="SM MHz", format=".0f",
          stays=19, metric="sm_clock"),
    Field("held_down_by", "what held the clocks of a device down; empty: nothing",
          lambda of: held_down(of.row.measuring), kind=str, heading="held down by", stays=12),
    Field("throughput", "the rate of all processes of a whole launch", "row.throughput", "units/s",
          metric="throughput", like=RATE),
    Field("efficiency", "throughput relative to the fewest nodes, per node", "efficiency"),
    Field("efficiency_error", "half of its 95 % interval over launches", "efficiency_error"),
    Field("efficiency_note", "what it is relative to, or why there is none", "efficiency_note",
          kind=str),
    Field("settings", "its combination of a matrix; empty without one", "row.matrix", kind=Payload,
          places=DOCUMENT),
    Field("settings", "its combination of a matrix, as JSON",
          lambda of: encode(of.row.matrix).decode(), kind=str, places=EXPORT),
    Field("interval", "95 % interval, in units of perf", "row.interval",
          kind=tuple[float, float] | None, places=DOCUMENT),
    Field("interval_low", "the lower end of the 95 % interval of perf",
          lambda of: (of.row.interval or NEITHER)[0], "units/s", places=EXPORT),
    Field("interval_high", "its upper end", lambda of: (of.row.interval or NEITHER)[1],
          "units/s", places=EXPORT),
    Field("interval_holds", "the mean in this launch, or over some", "row.interval_holds",
          kind=str | None),
    Field("why_no_rate", "why its rates have no mean; empty if they have one",
          "row.why_no_rate", kind=str),
    Field("note", "", lambda of: of.row.why_no_rate.partition(":")[0], kind=str,
          heading="note", stays=3, places=TABLE),
    Field("until", "the half width that ended its launches, of perf; or 0", "row.until"),
    Field("observations", "rates in the steady state", "row.observations", kind=int),
    Field("warmup_marked", "rates that the programs marked as warm-up",
          "row.warmup_marked", kind=int),
    Field("warmup_detected", "more, found before the steady state", "row.warmup_detected",
          kind=int),
    Field("peak_memory_source", "device or program", "row.peak_memory_source",
          kind=str | None),
    Field("reporting", "processes that measured something", "row.reporting", kind=int),
    Field("launches", "launches with at least one such process", "row.launches", kind=int),
    Field("per_launch", "processes that measure in a whole launch", "row.per_launch"),
    Field("facts", "what its programs told, by group", "row.facts",
          kind=Mapping[str, Payload], places=DOCUMENT),
    Field("watts", "the mean power of all devices of a launch", "energy.watts", "W",
          places=EXPORT),
    Field("joules", "their energy for a unit of work", "energy.joules", "J", metric="joules",
          spread="energy.error", places=EXPORT),
    Field("joules_error", "half of its 95 % interval", "energy.error", "J", places=EXPORT),
    Field("allocated", "the most memory that a rank allocated", "row.allocated", "MiB",
          metric="allocated"),
    Field("reserved", "the most memory that a rank reserved", "row.reserved", "MiB",
          metric="reserved"),
    Field("step_ms_std", "the deviation of a rank's steps, the median over ranks", "step_stdev",
          "ms", metric="latency_stdev"),
)
# fmt: on
MAIN = tuple(each for each in BENCHMARK if each.heading)
"""The columns of the main table."""
IN_DOCUMENT, IN_EXPORT = in_place(BENCHMARK, DOCUMENT), in_place(BENCHMARK, EXPORT)


def types_of(fields: Iterable[Field]) -> list[tuple[str, object]]:
    return [(each.name, each.annotation) for each in fields]


def values_of(fields: Iterable[Field], of: object) -> dict[str, object]:
    return {each.name: each.of(of) for each in fields}


class RecordType:
    """A type of records with declared fields, each of which says how its value is found."""

    def __init__(self, name: str, meaning: str, fields: Iterable[Field]) -> None:
        self.fields = tuple(fields)
        self.type = defstruct(
            name, types_of(self.fields), namespace={"__doc__": meaning or None}, frozen=True
        )

    def of_each(self, subjects: Iterable[object]) -> tuple[Struct, ...]:
        return tuple(self.type(**values_of(self.fields, subject)) for subject in subjects)
