"""The lines of the tidy tables about runs, benchmarks, ranks, findings and events.

A field is a column: its type, meaning and unit are declared here alone. NaN and None are values
that are not known.
"""

from dataclasses import dataclass
from typing import Annotated

from msgspec import defstruct

from ...codec import about
from ..fields import IN_EXPORT, types_of
from ..rank_fields import IN_EXPORT as RANK

RUN = Annotated[str, about("the run folder")]
BENCHMARK = Annotated[str, about("the benchmark")]


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


BenchmarkLine = defstruct(
    "BenchmarkLine",
    [("run", RUN), ("benchmark", BENCHMARK), *types_of(IN_EXPORT)],
    namespace={"__doc__": "A benchmark of a run: its row of the main table, and more."},
    frozen=True,
)


RankLine = defstruct(
    "RankLine",
    [("run", RUN), ("benchmark", BENCHMARK), *types_of(RANK)],
    namespace={"__doc__": "A rank of a job, or a device, over all launches of a benchmark."},
    frozen=True,
)


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
