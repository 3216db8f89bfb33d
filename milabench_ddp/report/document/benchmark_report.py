"""The part of a document about one benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import defstruct

from ...codec import about
from ...events import Status
from ...results.records import Payload
from ..compat import MilabenchSummary
from ..energy import Energy
from ..fields import IN_DOCUMENT, types_of
from ..mfu import Peak
from ..monitor_means import DeviceMeans, HostMeans
from ..rank_fields import IN_DOCUMENT as RANK

LEDGER = "the mean over ranks of where the mean step goes: all but hidden add up"
TABLES = "what they told of one size or shape after another, by key: comm, sweep, ..."


@dataclass(frozen=True)
class ToldReport:
    """A number that the programs told about themselves, over processes, ranks and repeats."""

    mean: float
    std: Annotated[float, about("the standard deviation; null for a single value")]
    n: Annotated[int, about("how many values there are")]


@dataclass(frozen=True)
class ProcessReport:
    """A process; its rate is that of its steady state, in the benchmark's unit."""

    run: Annotated[str, about("the name of its run")]
    repeat: Annotated[str | None, about("R0 is the first of several launches; null of one alone")]
    tag: Annotated[str, about("its name; its files are named after it")]
    device: Annotated[object, about("the device on which it is alone; null for a job")]
    outcome: Annotated[Status, about("how it ended, or running")]
    reason: Annotated[str, about("why it did not end ok; else empty")]
    perf: Annotated[float, about("its mean rate", "units/s")]
    std: Annotated[float, about("the standard deviation of its rates", "units/s")]
    observations: Annotated[int, about("rates in the steady state")]
    warmup_marked: Annotated[int, about("rates that the program marked as warm-up")]
    warmup_detected: Annotated[int, about("more, until its steady state")]
    steady: Annotated[bool, about("whether its rate has a steady state")]
    drift: Annotated[float, about("by which part its rate still moves; 0 where it is steady")]
    seconds: Annotated[float | None, about("how long it ran", "s")]


RankReport = defstruct(
    "RankReport",
    types_of(RANK),
    namespace={"__doc__": "A rank: its numbers, and where its time goes."},
    frozen=True,
)


@dataclass(frozen=True, kw_only=True)
class EnergyReport(Energy):
    """The energy of a unit of work, of the boards of all devices of a launch."""

    unit: Annotated[str, about("the unit of work, such as token")]


BenchmarkReport = defstruct(
    "BenchmarkReport",
    [
        *types_of(IN_DOCUMENT),
        ("peak", Annotated[Peak | None, about("the measured peak that mfu is relative to")]),
        ("energy", Annotated[EnergyReport | None, about("of its devices")]),
        ("ledger_ms", Annotated[Mapping[str, float], about(LEDGER, "ms")]),
        ("ranks", tuple[RankReport, ...]),  # type: ignore[valid-type]  # made from the fields
        ("processes", tuple[ProcessReport, ...]),
        ("devices", tuple[DeviceMeans, ...]),  # type: ignore[valid-type]  # made from the sensors
        ("hosts", tuple[HostMeans, ...]),  # type: ignore[valid-type]
        ("told", Annotated[Mapping[str, ToldReport], about("the programs' own numbers, by name")]),
        ("tables", Annotated[Mapping[str, tuple[Payload, ...]], about(TABLES)]),
        ("summary", Annotated[MilabenchSummary | None, about("by milabench's formulas")]),
        ("repeat_with", Annotated[tuple[str, ...], about("commands that run it again, by run")]),
    ],
    namespace={"__doc__": "A benchmark: its row of the main table, and all that is behind it."},
    frozen=True,
    kw_only=True,
)
