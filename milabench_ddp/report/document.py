"""The document of a report: all that it says, as one record.

As JSON it is what ``docs/reference/report.schema.json`` describes. In memory a number that is not
known is NaN, as everywhere in the report; JSON has null for it. Each field of a record says how its
value is found, and what it means.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Literal

from msgspec import Struct, structs

from .. import __version__
from ..codec import about
from ..events import Status
from ..results.records import Payload
from .compat import MilabenchSummary
from .energy import Energy, energy_of_row
from .failure_causes import Cause, causes_of
from .failures import CellState, cell_state
from .fields import IN_DOCUMENT, Field, RecordType, ReportedBenchmark, types_of, values_of
from .finding import Checked, Finding
from .mfu import Peak
from .model import Failure, Report
from .node_verdict import NodeVerdict
from .process import ProcessResult
from .rank_fields import IN_DOCUMENT as RANK
from .run_info import RunInfo
from .score import BenchmarkScore
from .sentences import commands_of, verdict
from .statistics.values import deviation
from .sweeps.efficiency import efficiencies
from .sweeps.metrics import EFFICIENCY
from .sweeps.settings import Cell
from .sweeps.sweep import Sweep, is_usable, sweeps_of
from .tables.ledger_table import ledger_by_rank, mean_items, ranks_of
from .tables.monitor_tables import DEVICE_MEANS, HOST_MEANS, watched_devices, watched_hosts

SWEPT = ("throughput", "latency", EFFICIENCY)
"""The metrics of which a document has the tables."""
TEXTS = tuple[str, ...]
LEDGER = "the mean over ranks of where the mean step goes: all but hidden add up"
TABLES = "what they told of one size or shape after another, by key: comm, sweep, ..."


@dataclass(frozen=True, kw_only=True)
class Document:
    """A document with a published schema; all fields are always there.

    ``schema`` is raised by every change that a reader of the document before it could stumble over.
    """

    schema: Annotated[Literal[1], about("the version of the document's schema")] = 1
    milabench: Annotated[str, about("the version of milabench that made it")] = __version__


def document_type(name: str, meaning: str, fields: Sequence[Field]) -> Callable[..., Document]:
    """A type of documents with declared fields."""
    return make_dataclass(
        name,
        types_of(fields),
        bases=(Document,),
        namespace={"__doc__": meaning},
        frozen=True,
        kw_only=True,
    )


def several(kind: type) -> object:
    """The type of several records, of a type that is made as the program runs."""
    return GenericAlias(tuple, (kind, ...))


def _told(benchmark: ReportedBenchmark) -> Mapping[str, Struct]:
    told = benchmark.row.told
    return dict(zip(told, TOLD.of_each(told.values()), strict=True))


def _rates(process: ProcessResult) -> Sequence[float]:
    return process.series.rates if process.series else ()


def _lines(sweep: Sweep) -> tuple[Struct, ...]:
    lines = []
    for title in sweep.blocks:
        for label, cells in sweep.lines(title):
            named = zip(sweep.columns, cells, strict=True)
            found = [CELL.type(column=column, **structs.asdict(cell)) for column, cell in named]
            lines.append(LINE.type(title, label, tuple(found)))
    return tuple(lines)


def _sweeps(report: Report) -> tuple[Struct, ...]:
    metrics = () if report.compat else SWEPT
    return SWEEP.of_each(sweep for metric in metrics for sweep in sweeps_of(report, metric))


# fmt: off
TOLD = RecordType(
    "ToldReport",
    "A number that the programs told about themselves, over processes, ranks and repeats.",
    [
        Field("mean", ""),
        Field("std", "the standard deviation; null for a single value"),
        Field("n", "how many values there are", lambda told: len(told.values), kind=int),
    ],
)
PROCESS = RecordType(
    "ProcessReport",
    "A process; its rate is that of its steady state, in the benchmark's unit.",
    [
        Field("run", "the name of its run", "run.name", kind=str),
        Field("repeat", "R0 is the first of several launches; null of one alone",
              lambda process: process.record.repeat or None, kind=str | None),
        Field("tag", "its name; its files are named after it", "record.tag", kind=str),
        Field("device", "the device on which it is alone; null for a job", "record.device",
              kind=object),
        Field("outcome", "how it ended, or running", "status", kind=Status),
        Field("reason", "why it did not end ok; else empty",
              lambda process: process.verdict.reason if process.verdict else "", kind=str),
        Field("perf", "its mean rate; null without a steady state", "rate", "units/s"),
        Field("std", "the standard deviation of its rates",
              lambda process: deviation(_rates(process)), "units/s"),
        Field("observations", "rates in the steady state",
              lambda process: len(_rates(process)), kind=int),
        Field("warmup_marked", "rates that the program marked as warm-up", kind=int),
        Field("warmup_detected", "more, until its steady state", "steady.start", kind=int),
        Field("steady", "whether its rate has a steady state",
              lambda process: not process.steady.problem, kind=bool),
        Field("drift", "by which part its rate still moves; 0 where it is steady",
              lambda process: process.steady.change if process.steady.problem else 0.0),
        Field("seconds", "how long it ran", "record.seconds", "s", kind=float | None),
    ],
)
RANKS = RecordType("RankReport", "A rank: its numbers, and where its time goes.", RANK)
BENCHMARK = RecordType(
    "BenchmarkReport",
    "A benchmark: its row of the main table, and all that is behind it.",
    [
        *IN_DOCUMENT,
        Field("peak", "the measured peak that mfu is relative to", "row.used.peak",
              kind=Peak | None),
        Field("energy", "of all devices of a launch", lambda of: energy_of_row(of.row),
              kind=Energy | None),
        Field("ledger_ms", LEDGER, lambda of: mean_items(ledger_by_rank(of.row).values()), "ms",
              kind=Mapping[str, float]),
        Field("ranks", "", lambda of: RANKS.of_each(ranks_of(of.row)),
              kind=several(RANKS.type)),
        Field("processes", "", lambda of: PROCESS.of_each(of.row.processes),
              kind=several(PROCESS.type)),
        Field("devices", "", lambda of: DEVICE_MEANS.of_each(watched_devices(of.row)),
              kind=several(DEVICE_MEANS.type)),
        Field("hosts", "", lambda of: HOST_MEANS.of_each(watched_hosts(of.row)),
              kind=several(HOST_MEANS.type)),
        Field("told", "the programs' own numbers, by name", _told,
              kind=GenericAlias(Mapping, (str, TOLD.type))),
        Field("tables", TABLES, "row.tables", kind=Mapping[str, tuple[Payload, ...]]),
        Field("summary", "by milabench's formulas", "row.milabench",
              kind=MilabenchSummary | None),
        Field("repeat_with", "commands that run it again, by run", "commands", kind=TEXTS),
    ],
)
CELL = RecordType(
    "CellReport",
    "A cell of a sweep's table.",
    [
        Field("column", "one of the sweep's columns", kind=str),
        Field("benchmark", "empty where no benchmark has these settings", kind=str),
        Field("value", "the metric; null where it is not known"),
        Field("spread", "half of its interval or its deviation, as the metric says"),
        Field("stdev", "of the steps behind it"),
        Field("text", "as the table shows it; without a number, the benchmark's state", kind=str),
        Field("note", "what stands below the table about this cell", kind=str),
    ],
)
LINE = RecordType(
    "LineReport",
    "A line of a sweep's table.",
    [
        Field("block", "the title of its block; empty where there is one block alone", kind=str),
        Field("label", "a value for each of the sweep's settings", kind=TEXTS),
        Field("cells", "one for each of the sweep's columns", kind=several(CELL.type)),
    ],
)
SWEEP = RecordType(
    "SweepReport",
    "One metric of all benchmarks, by the settings in which they differ.",
    [
        Field("name", "of the sweep in the configuration; empty if it is not known", kind=str),
        Field("metric", "as for --table", kind=str),
        Field("meaning", "what the metric and its spread are, with the unit", kind=str),
        Field("settings", "the names of the settings in the lines' labels", "layout.corner",
              kind=TEXTS),
        Field("columns", "", kind=TEXTS),
        Field("lines", "", _lines, kind=several(LINE.type)),
    ],
)
REPORT = (
    Field("compat", "whether the statistics are milabench's own formulas", kind=bool),
    Field("verdict", "the verdict as a sentence: PASS: ..., FAIL: ..., none yet: ...", verdict,
          kind=str),
    Field("passed", "whether all ended ok and measured something", kind=bool),
    Field("goes_on", "whether a run has not ended", kind=bool),
    Field("failure_rate", "the share of processes that failed"),
    Field("score", "the geometric mean of scores, or of ratios to the baseline", "score.value"),
    Field("score_error", "half of its 95 % interval, by those of the benchmarks",
          lambda report: report.score.value * report.score.half_width),
    Field("score_reason", "why there is no score; else empty", "score.reason", kind=str),
    Field("baseline", "the run folder that the score is relative to", "score.baseline",
          kind=Path | None),
    Field("score_failed", "what failed as a whole, and counts as 0 in it", "score.failed",
          kind=TEXTS),
    Field("score_of_others", "the score without those", "score.of_others"),
    Field("score_per_watt", "that of what is known of work for a joule", "score.per_watt"),
    Field("scores", "what the score is the mean of", "score.benchmarks",
          kind=tuple[BenchmarkScore, ...]),
    Field("causes", "of the failures; those that hit most benchmarks first",
          causes_of, kind=tuple[Cause, ...]),
    Field("verdicts", "of a validation: one for each node", kind=tuple[NodeVerdict, ...]),
    Field("findings", "the worst first, then the dearest", kind=tuple[Finding, ...]),
    Field("checks", "what was looked for, found or not", kind=tuple[Checked, ...]),
    Field("errors", "the sentences of the findings that are errors", kind=list[str]),
    Field("warnings", "the sentences of the findings that are warnings", kind=list[str]),
    Field("notes", "the sentences of the findings that are notes", kind=list[str]),
    Field("runs", "", kind=tuple[RunInfo, ...]),
    Field("benchmarks", "a row of the main table each",
          lambda report: BENCHMARK.of_each(benchmarks_of(report)), kind=several(BENCHMARK.type)),
    Field("failures", "what did not end ok", kind=tuple[Failure, ...]),
    Field("sweeps", "where benchmarks differ in a matrix", _sweeps, kind=several(SWEEP.type)),
)
# fmt: on
ABOUT_REPORT = """A report on one run, or on several runs that are pooled.

A number that is not known is null. Times are seconds since the epoch, durations seconds unless
their name says ms, and shares fractions of 1.
"""
ReportDocument = document_type("ReportDocument", ABOUT_REPORT, REPORT)


def document_of(report: Report) -> Document:
    return ReportDocument(**values_of(REPORT, report))


def benchmarks_of(report: Report) -> list[ReportedBenchmark]:
    states = {row.name: cell_state(report, row) for row in report.rows}
    scaling: dict[str, Cell] = {}
    if not report.compat:
        scaling = efficiencies(report.rows, lambda row: is_usable(row, states[row.name]))
    found = []
    for row in report.rows:
        state = states[row.name] or CellState("ok")
        cell = scaling.get(row.name, Cell())
        commands = tuple(commands_of(report, row.name))
        found.append(ReportedBenchmark(row, state, cell.value, cell.spread, cell.note, commands))
    return found
