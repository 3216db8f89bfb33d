"""The part of a document about one benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from ...codec import about
from ...events import Status
from ...results.records import Payload
from ..compat import MilabenchSummary
from ..energy import Energy
from ..mfu import Peak
from ..model import Summary
from ..monitor_means import DeviceMeans, HostMeans


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
    warmup_detected: Annotated[int, about("more, found before the steady state")]
    steady: Annotated[bool, about("whether its rate has a steady state")]
    drift: Annotated[float, about("by which part its rate still moves; 0 where it is steady")]
    seconds: Annotated[float | None, about("how long it ran", "s")]


@dataclass(frozen=True, kw_only=True)
class RankRow:
    """A rank of a job, or a device with a process of its own: its numbers over all launches."""

    name: Annotated[str, about("for people, such as rank 3")]
    node: Annotated[str | None, about("null if all ranks are on one node")]
    job: Annotated[int, about("the job that it is of")]
    rank: Annotated[int, about("of the job; or the index of a device that a process is alone on")]
    steps: Annotated[int, about("timed steps in the steady state")]
    step_ms: Annotated[float, about("the median step", "ms")]
    step_ms_p95: Annotated[float, about("what 95 of 100 steps do not exceed", "ms")]
    step_ms_std: Annotated[float, about("the standard deviation of its steps", "ms")]
    wait_ms: Annotated[float, about("the mean wait for data in a step", "ms")]
    own_ms: Annotated[float, about("the step without waits for other ranks", "ms")]
    memory_allocated: Annotated[float, about("the most that its allocator gave out", "MiB")]
    memory_reserved: Annotated[float, about("the most that its allocator held", "MiB")]


@dataclass(frozen=True, kw_only=True)
class RankReport(RankRow):
    """A rank: its numbers, and where its time goes."""

    stages: Annotated[tuple[int, ...], about("of a pipeline, by their numbers in the model")]
    own_part_ms: Annotated[Mapping[str, float], about("own_ms, by part of the step")]
    shares: Annotated[Mapping[str, float], about("of the step, by part")]
    part_ms: Annotated[
        Mapping[str, tuple[float, float]], about("mean and deviation by part of the step", "ms")
    ]
    ledger_ms: Annotated[
        Mapping[str, float],
        about("where the mean step goes: all items but hidden add up to it", "ms"),
    ]


@dataclass(frozen=True, kw_only=True)
class EnergyReport(Energy):
    """The energy of a unit of work, of the boards of all devices of a launch."""

    unit: Annotated[str, about("the unit of work, such as token")]


@dataclass(frozen=True, kw_only=True)
class Named:
    """The name of a benchmark, which stands before all else."""

    name: str


@dataclass(frozen=True, kw_only=True)
class RowReport:
    """The row of a benchmark in the main table."""

    state: Annotated[
        str,
        about("ok, failed, oom, Traceback, timeout, cancelled, lost, skipped, running, waiting.."),
    ]
    reason: Annotated[str, about("of its state; empty if it is ok")]
    enabled: Annotated[bool, about("whether it is part of the suite's score")]
    weight: Annotated[float, about("in the suite's score")]
    unit: Annotated[str | None, about("of perf and score, such as tokens/s")]
    fail: Annotated[float, about("processes that failed")]
    n: Annotated[float, about("processes")]
    ngpu: Annotated[float, about("devices")]
    nodes: Annotated[int, about("nodes")]
    perf: Annotated[float, about("the mean rate over processes", "units/s")]
    sem: Annotated[float, about("the standard error of perf, as a fraction of it")]
    std: Annotated[float, about("the standard deviation of the rates, as a fraction of perf")]
    drift: Annotated[float, about("by which part a rate still moves; null where all are steady")]
    score: Annotated[float, about("the rate of all devices; what failed counts as 0", "units/s")]
    peak_memory: Annotated[float, about("the most memory in use on a device", "MiB")]


@dataclass(frozen=True, kw_only=True)
class BenchmarkReport(Summary, RowReport, Named):
    """A benchmark: its row of the main table, and all that is behind it."""

    settings: Annotated[Payload, about("its combination of a matrix; empty without one")]
    throughput: Annotated[float, about("the rate of all processes of a whole launch", "units/s")]
    efficiency: Annotated[float, about("throughput relative to the fewest nodes, per node")]
    efficiency_error: Annotated[float, about("half of its 95 % interval over launches")]
    efficiency_note: Annotated[str, about("what it is relative to, or why there is none")]
    step_ms: Annotated[float, about("the median over ranks of each rank's median step", "ms")]
    mfu: Annotated[float, about("model FLOPs as a share of the measured peak")]
    hfu: Annotated[float, about("the same, with the FLOPs of recomputation")]
    peak: Annotated[Peak | None, about("the measured peak that mfu is relative to")]
    sm_clock: Annotated[float, about("the mean SM clock in the measured steps", "MHz")]
    held_down_by: Annotated[str, about("what held the clocks of a device down; empty: nothing")]
    energy: Annotated[EnergyReport | None, about("of its devices")]
    ledger_ms: Annotated[
        Mapping[str, float],
        about("the mean over ranks of where the mean step goes: all but hidden add up", "ms"),
    ]
    ranks: tuple[RankReport, ...]
    processes: tuple[ProcessReport, ...]
    devices: tuple[DeviceMeans, ...]  # type: ignore[valid-type]  # made from the sensors
    hosts: tuple[HostMeans, ...]  # type: ignore[valid-type]
    told: Annotated[Mapping[str, ToldReport], about("the programs' own numbers, by name")]
    tables: Annotated[
        Mapping[str, tuple[Payload, ...]],
        about("what they told of one size or shape after another, by key: comm, sweep, ..."),
    ]
    summary: Annotated[MilabenchSummary | None, about("with milabench's formulas: its summary")]
    repeat_with: Annotated[tuple[str, ...], about("commands of bash that run it again, by run")]
