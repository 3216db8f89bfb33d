"""The lines of the tidy tables with a line for each step, rate or sample.

They are structs, because there are millions of them.
"""

from typing import Annotated, Any, TypeVar, cast

import msgspec

from ...codec import about
from ...samples import DeviceSample, HostSample, Sensor, sensors_of
from .lines import BENCHMARK, RUN

Head = TypeVar("Head", bound=msgspec.Struct)


class OfProcess(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a line is about."""

    run: RUN
    benchmark: BENCHMARK
    tag: Annotated[str, about("the process")]
    repeat: Annotated[str | None, about("R0 is the first of several launches")]


class StepLine(OfProcess, frozen=True, gc=False, kw_only=True):
    """A step of a rank, after the warm-up that its program left out."""

    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    job: Annotated[int, about("the job of the rank")]
    rank: Annotated[int, about("whose it is, as in the table ranks")]
    step: Annotated[int, about("from 0")]
    steady: Annotated[bool, about("whether it is in the steady state, which the numbers are of")]
    ms: Annotated[float, about("the step", "ms")]
    wait_ms: Annotated[float | None, about("its wait for data", "ms")]
    forward_ms: Annotated[float | None, about("its forward pass", "ms")]
    backward_ms: Annotated[float | None, about("its backward pass", "ms")]
    forward_backward_ms: Annotated[float | None, about("both, of a pipeline", "ms")]
    exposed_communication_ms: Annotated[
        float | None, about("communication that nothing hides, with waits for other ranks", "ms")
    ]
    optimizer_ms: Annotated[float | None, about("its update of the parameters", "ms")]
    host_ms: Annotated[float | None, about("what its loop does besides", "ms")]


class RateLine(OfProcess, frozen=True, gc=False, kw_only=True):
    """A rate that a program told: an observation."""

    rank: Annotated[int, about("whose rate it is; 0 if it is not told")]
    place: Annotated[int, about("from 0, in the order in which they were told")]
    time: Annotated[float | None, about("when it was told, since the epoch", "s")]
    rate: Annotated[float | None, about("the rate", "units/s")]
    unit: Annotated[str, about("of the rate")]
    steps: Annotated[int | None, about("how many steps it covers")]
    warmup: Annotated[bool, about("whether the program marked it as warm-up")]
    steady: Annotated[bool, about("whether it is in the steady state, which the numbers are of")]


class SampleHead(OfProcess, frozen=True, gc=False, kw_only=True):
    """The readings of a device at one moment."""

    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    device: Annotated[str, about("its index on its node")]
    time: Annotated[float | None, about("since the epoch", "s")]
    measured: Annotated[bool, about("whether its process measured its steady state then")]


class HostSampleHead(OfProcess, frozen=True, gc=False, kw_only=True):
    """What a host did at one moment; rates are since the sample before."""

    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    time: Annotated[float | None, about("since the epoch", "s")]
    measured: Annotated[bool, about("whether its process measured its steady state then")]


def exported(sample: type[msgspec.Struct]) -> list[Sensor]:
    """The sensors of a kind of sample that have a column."""
    return [sensor for sensor in sensors_of(sample) if sensor.is_exported]


def _sample_type(name: str, head: type[Head], sample: type[msgspec.Struct]) -> type[Head]:
    columns: list[tuple[str, Any]] = []
    for sensor in exported(sample):
        kind: Any = sensor.kind
        columns.append((sensor.name, Annotated[kind | None, about(sensor.meaning, sensor.unit)]))
    of_head = {"__doc__": head.__doc__}
    made = msgspec.defstruct(
        name, columns, bases=(head,), namespace=of_head, frozen=True, gc=False, kw_only=True
    )
    return cast("type[Head]", made)


SampleLine = _sample_type("SampleLine", SampleHead, DeviceSample)
HostSampleLine = _sample_type("HostSampleLine", HostSampleHead, HostSample)
