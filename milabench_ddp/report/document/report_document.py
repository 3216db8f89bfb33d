"""The document of a report: all that it says, as one record, which every format can be made from.

As JSON it is what ``docs/reference/report.schema.json`` describes. In memory a number that is not
known is NaN, as everywhere in the report; JSON has null for it.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ...codec import about
from ..finding import Finding
from ..model import Failure
from ..run_info import RunInfo
from ..scores import BenchmarkScore
from .benchmark_report import BenchmarkReport
from .document import Document


@dataclass(frozen=True)
class CellReport:
    """A cell of a sweep's table."""

    column: Annotated[str, about("one of the sweep's columns")]
    benchmark: Annotated[str, about("empty where no benchmark has these settings")]
    value: Annotated[float, about("the metric; null where it is not known")]
    spread: Annotated[float, about("half of its interval or its deviation, as the metric says")]
    stdev: Annotated[float, about("of the steps behind it")]
    text: Annotated[str, about("as the table shows it; without a number, the benchmark's state")]
    note: Annotated[str, about("what stands below the table about this cell")]


@dataclass(frozen=True)
class LineReport:
    """A line of a sweep's table."""

    block: Annotated[str, about("the title of its block; empty where there is one block alone")]
    label: Annotated[tuple[str, ...], about("a value for each of the sweep's settings")]
    cells: Annotated[tuple[CellReport, ...], about("one for each of the sweep's columns")]


@dataclass(frozen=True)
class SweepReport:
    """One metric of all benchmarks, by the settings in which they differ."""

    name: Annotated[str, about("of the sweep in the configuration; empty if it is not known")]
    metric: Annotated[str, about("as for --table")]
    meaning: Annotated[str, about("what the metric and its spread are, with the unit")]
    settings: Annotated[tuple[str, ...], about("the names of the settings in the lines' labels")]
    columns: tuple[str, ...]
    lines: tuple[LineReport, ...]


@dataclass(frozen=True, kw_only=True)
class ReportDocument(Document):
    """A report on one run, or on several runs that are pooled.

    A number that is not known is null. Times are seconds since the epoch, durations seconds unless
    their name says ms, and shares fractions of 1.
    """

    compat: Annotated[bool, about("whether the statistics are milabench's own formulas")]
    verdict: Annotated[str, about("the verdict as a sentence: PASS: ..., FAIL: ..., none yet: ...")]
    passed: Annotated[bool, about("whether all ended ok and measured something")]
    goes_on: Annotated[bool, about("whether a run has not ended")]
    failure_rate: Annotated[float, about("the share of processes that failed")]
    score: Annotated[float, about("the geometric mean of scores, or of ratios to the baseline")]
    score_error: Annotated[float, about("half of its 95 % interval, by those of the benchmarks")]
    score_reason: Annotated[str, about("why there is no score; else empty")]
    baseline: Annotated[Path | None, about("the run folder that the score is relative to")]
    score_failed: Annotated[tuple[str, ...], about("what failed as a whole, and counts as 0 in it")]
    score_of_others: Annotated[float, about("the score without those")]
    score_per_watt: Annotated[float, about("that of what is known of work for a joule")]
    scores: Annotated[tuple[BenchmarkScore, ...], about("what the score is the mean of")]
    findings: Annotated[tuple[Finding, ...], about("the worst first")]
    errors: Annotated[list[str], about("the sentences of the findings that are errors")]
    warnings: Annotated[list[str], about("the sentences of the findings that are warnings")]
    notes: Annotated[list[str], about("the sentences of the findings that are notes")]
    runs: tuple[RunInfo, ...]
    benchmarks: Annotated[
        tuple[BenchmarkReport, ...],  # type: ignore[valid-type]  # made from the fields
        about("a row of the main table each"),
    ]
    failures: Annotated[tuple[Failure, ...], about("what did not end ok")]
    sweeps: Annotated[tuple[SweepReport, ...], about("where benchmarks differ in a matrix")]
