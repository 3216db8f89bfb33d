"""The lines of the tidy tables about runs, benchmarks, ranks, findings and events.

A field is a column: its type, meaning and unit are declared here alone. NaN and None are values
that are not known.
"""

from dataclasses import dataclass
from typing import Annotated

from ...codec import about
from ..document.benchmark_report import RankRow, RowReport

RUN = Annotated[str, about("the run folder")]
BENCHMARK = Annotated[str, about("the benchmark")]
Ms = Annotated[float, about("in the mean step, by the ledger", "ms")]


@dataclass(frozen=True, kw_only=True)
class RunLine:
    """A run."""

    run: RUN
    name: Annotated[str, about("its name")]
    outcome: Annotated[str | None, about("how it ended; not known while it goes on")]
    preset: Annotated[str, about("its preset")]
    started: Annotated[float | None, about("when it began, since the epoch", "s")]
    seconds: Annotated[float | None, about("how long it took", "s")]
    command: Annotated[str, about("the command that started it, as for a shell")]
    host: Annotated[str, about("a node of it")]
    devices: Annotated[str | None, about("the devices of a node")]
    device_memory: Annotated[str | None, about("the memory of a device")]
    power_limit: Annotated[str | None, about("the power caps of its devices")]
    ecc: Annotated[str | None, about("whether its devices correct errors of their memory")]
    cpu: Annotated[str | None, about("the CPUs of a node")]
    driver: Annotated[str | None, about("the version of the driver")]
    torch: Annotated[str | None, about("the version of torch")]
    cuda: Annotated[str | None, about("the version of CUDA")]
    rocm: Annotated[str | None, about("the version of ROCm")]
    nccl: Annotated[str | None, about("the version of NCCL")]
    cudnn: Annotated[str | None, about("the version of cuDNN")]
    triton: Annotated[str | None, about("the version of triton")]
    python: Annotated[str | None, about("the version of Python")]
    milabench: Annotated[str | None, about("the version of milabench")]
    commit: Annotated[str | None, about("the commit of milabench")]
    environment: Annotated[str | None, about("its variables that change speed")]


@dataclass(frozen=True, kw_only=True)
class OfBenchmark:
    """What a line is about."""

    run: RUN
    benchmark: BENCHMARK


@dataclass(frozen=True, kw_only=True)
class BenchmarkLine(RowReport, OfBenchmark):
    """A benchmark of a run: its row of the main table, and more."""

    settings: Annotated[str, about("its combination of a matrix, as JSON")]
    interval_low: Annotated[float, about("the lower end of the 95 % interval of perf", "units/s")]
    interval_high: Annotated[float, about("its upper end", "units/s")]
    interval_holds: Annotated[str | None, about("the mean within this launch, or over launches")]
    launches: Annotated[int, about("launches that measured something")]
    observations: Annotated[int, about("rates in the steady state")]
    throughput: Annotated[float, about("the rate of all processes of a whole launch", "units/s")]
    efficiency: Annotated[float, about("throughput relative to the fewest nodes, per node")]
    efficiency_error: Annotated[float, about("half of its 95 % interval over launches")]
    step_ms: Annotated[float, about("the median over ranks of their median steps", "ms")]
    mfu: Annotated[float, about("model FLOPs as a share of the measured peak")]
    hfu: Annotated[float, about("the same, with the FLOPs of recomputation")]
    sm_clock: Annotated[float, about("the mean SM clock in the measured steps", "MHz")]
    held_down_by: Annotated[str, about("what held the clocks of a device down")]
    watts: Annotated[float, about("the mean power of all devices of a launch", "W")]
    joules: Annotated[float, about("their energy for a unit of work", "J")]
    joules_error: Annotated[float, about("half of its 95 % interval", "J")]


@dataclass(frozen=True, kw_only=True)
class RankLine(RankRow, OfBenchmark):
    """A rank of a job, or a device with a process of its own, over all launches of a benchmark."""

    data_ms: Ms
    forward_ms: Ms
    backward_ms: Ms
    forward_backward_ms: Annotated[float, about("of pipelines, whose passes interleave", "ms")]
    optimizer_ms: Ms
    host_ms: Ms
    communication_ms: Annotated[float, about("exposed, without waits for slower ranks", "ms")]
    bubble_ms: Annotated[float, about("exposed within a pipeline", "ms")]
    waiting_ms: Annotated[float, about("for slower ranks", "ms")]
    jitter_ms: Annotated[float, about("what the mean step takes beyond the other items", "ms")]
    hidden_ms: Annotated[float, about("communication behind the backward pass", "ms")]


@dataclass(frozen=True, kw_only=True)
class FindingLine(OfBenchmark):
    """A finding; ``benchmark`` is empty where it is about the run."""

    severity: Annotated[str, about("error, warning or note")]
    name: Annotated[str, about("its name, as the report's documentation lists it")]
    place: Annotated[str, about("a rank, a device, a process or a file")]
    sentence: Annotated[str, about("what stands out")]
    advice: Annotated[str, about("what to do")]


@dataclass(frozen=True, kw_only=True)
class EventLine(OfBenchmark):
    """Something that happened to a process: ``start``, ``end``, ``error`` or ``device_problem``."""

    tag: Annotated[str, about("the process")]
    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    rank: Annotated[int | None, about("of an error: whose it is")]
    device: Annotated[int | None, about("of a problem: the index of the device")]
    time: Annotated[float | None, about("when it happened, since the epoch", "s")]
    kind: Annotated[str, about("what happened")]
    outcome: Annotated[str | None, about("of an end: ok, failed, timeout, cancelled, lost")]
    text: Annotated[str, about("the reason or the message")]
