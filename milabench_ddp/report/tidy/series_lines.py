"""The lines of the tidy tables with a line for each step, rate or sample.

They are structs, because there are millions of them.
"""

from typing import Annotated

import msgspec

from ...codec import about
from .lines import BENCHMARK, RUN


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
    rank: Annotated[int, about("of the job; or the index of a device that a process is alone on")]
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


class SampleLine(OfProcess, frozen=True, gc=False, kw_only=True):
    """The readings of a device at one moment."""

    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    device: Annotated[str, about("its index on its node")]
    time: Annotated[float | None, about("since the epoch", "s")]
    measured: Annotated[bool, about("whether its process measured its steady state then")]
    memory: Annotated[float | None, about("memory in use", "MiB")]
    memory_total: Annotated[float | None, about("all its memory", "MiB")]
    load: Annotated[float | None, about("the share of time in which any kernel ran")]
    temperature: Annotated[float | None, about("of the device", "degrees Celsius")]
    power: Annotated[float | None, about("of its board", "W")]
    power_limit: Annotated[float | None, about("the power cap in force", "W")]
    energy: Annotated[float | None, about("counted since the driver was loaded", "J")]
    sm_clock: Annotated[float | None, about("the clock of its multiprocessors", "MHz")]
    memory_clock: Annotated[float | None, about("the clock of its memory", "MHz")]
    clock_reasons: Annotated[str | None, about("why no clock is higher, as NVML names them")]
    memory_temperature: Annotated[float | None, about("of its memory", "degrees Celsius")]
    headroom: Annotated[float | None, about("until heat slows it down", "degrees Celsius")]
    pcie_out: Annotated[float | None, about("out of the device over PCIe", "MB/s")]
    pcie_in: Annotated[float | None, about("into the device over PCIe", "MB/s")]
    nvlink_out: Annotated[float | None, about("out of the device over NVLink", "MB/s")]
    nvlink_in: Annotated[float | None, about("into the device over NVLink", "MB/s")]
    corrected_errors: Annotated[int | None, about("of memory since the driver was loaded")]
    uncorrected_errors: Annotated[int | None, about("of memory since the driver was loaded")]
    foreign: Annotated[str | None, about("processes on it that are not of this run")]


class HostSampleLine(OfProcess, frozen=True, gc=False, kw_only=True):
    """What a host did at one moment; rates are since the sample before."""

    node: Annotated[str, about("empty if all of the benchmark ran on one node")]
    time: Annotated[float | None, about("since the epoch", "s")]
    measured: Annotated[bool, about("whether its process measured its steady state then")]
    cpu: Annotated[float | None, about("how busy the cores were that the run may use, 0 to 1")]
    cpu_clock: Annotated[float | None, about("the mean clock of the cores", "MHz")]
    memory: Annotated[float | None, about("memory in use", "MiB")]
    memory_total: Annotated[float | None, about("all its memory", "MiB")]
    swap_in: Annotated[float | None, about("from swap", "MB/s")]
    swap_out: Annotated[float | None, about("to swap", "MB/s")]
    read: Annotated[float | None, about("from disks", "MB/s")]
    written: Annotated[float | None, about("to disks", "MB/s")]
    received: Annotated[float | None, about("from the network, without InfiniBand's", "MB/s")]
    sent: Annotated[float | None, about("to the network, without InfiniBand's", "MB/s")]
