"""What a report says, as values; the renderers beside this file only lay it out."""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..results.records import is_finite
from .member import Member

NAN = math.nan
ACCEPTED_FAILURE_RATE = 0.01  # milabench's


@dataclass(frozen=True)
class Peak:
    """The most that was measured of matrix products of a precision, in a run."""

    benchmark: str
    precision: str
    tflop_s: float  # of one device


@dataclass(frozen=True)
class Row:
    """A benchmark: the columns of the table, and what the JSON adds to them."""

    name: str
    fail: float  # processes that failed; NaN where nothing is known, in milabench's formulas
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
    details: Mapping[str, Any] = field(default_factory=dict)  # JSON-able
    config: Mapping[str, Any] = field(default_factory=dict)  # as recorded
    members: tuple[Member, ...] = ()
    tables: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    mfu: float = NAN  # fraction of ``peak``
    peak: Peak | None = None

    def told(self, group: str) -> Mapping[str, Any]:
        """What the programs told of themselves under the key ``group``; empty for nothing."""
        facts = self.details.get("facts")
        found = facts.get(group) if isinstance(facts, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    @property
    def throughput(self) -> float:
        """Units per second of all processes of a launch together; ``perf`` is that of each."""
        reporting, launches = (self.details.get(key) for key in ("reporting", "launches"))
        return self.perf * reporting / launches if reporting and launches else self.perf

    @property
    def step_ms(self) -> float:
        """The step of the median rank, in ms: the median over ranks of each one's median step.

        Where no step times were recorded, the mean that the program told; NaN where it told none.
        """
        medians = [m.median for m in self.members if m.steps]
        if medians:
            return statistics.median(medians)
        mean = self.told("model").get("step_ms")
        return float(mean) if is_finite(mean) else NAN


@dataclass(frozen=True)
class Failure:
    """A process, or a benchmark as a whole, that did not end ok."""

    benchmark: str
    run: str
    tag: str | None  # None: no process of it was ever started
    outcome: str
    reason: str
    rank: int | None = None  # the one that failed first
    lines: tuple[str, ...] = ()  # what that rank said, or the last lines of all
    whole: Path | None = None  # the file with everything


@dataclass(frozen=True)
class RunInfo:
    """A run that the report is about."""

    name: str
    path: Path
    outcome: str | None  # None while it runs; "" where milabench's files do not say
    preset: str = ""
    started: float | None = None  # seconds since the epoch
    seconds: float | None = None
    host: str = ""
    cpu: str = ""
    devices: str = ""
    arch: str = ""
    version: str = ""
    waiting: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()  # benchmark, why


@dataclass(frozen=True)
class Report:
    """All of it."""

    compat: bool
    runs: tuple[RunInfo, ...]
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    planned: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # resolved, by name

    @property
    def score(self) -> float:
        """The weighted geometric mean of the scores, each plus 1, as milabench has it.

        A score that is NaN counts as 0; without any weight it is NaN.
        """
        weights = [row.weight * row.enabled for row in self.rows]
        total = math.fsum(weights)
        if not total:
            return NAN
        logs = map(_log, self.rows)
        return math.exp(math.fsum(w * log for w, log in zip(weights, logs, strict=True)) / total)

    @property
    def failure_rate(self) -> float:
        """Failures of all processes; a benchmark that never ran counts as one that failed."""
        failed = _sum(row.fail for row in self.rows)
        # In milabench's formula one that never ran is a failure of no process: above 100 %.
        tried = [row.n if self.compat or not row.fail > row.n else row.fail for row in self.rows]
        return failed / max(_sum(tried), 1)

    @property
    def passed(self) -> bool:
        """Whether the failure rate is one that milabench accepts."""
        return self.failure_rate <= ACCEPTED_FAILURE_RATE


def _log(row: Row) -> float:
    if math.isnan(row.score):
        return 0.0
    return math.log1p(row.score) if row.score > -1 else NAN


def _sum(values: Iterable[float]) -> float:
    return math.fsum(value for value in values if not math.isnan(value))
