"""What the monitor saw of each device and host in each launch of a benchmark."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from ..results.records import Payload, Record
from ..samples import DeviceSample, HostSample
from .process import Processes, ProcessResult
from .ranks.rank_launch import LaunchKey
from .statistics.values import NAN
from .statistics.window import Window

Sample = TypeVar("Sample", DeviceSample, HostSample)


class Stretch(Struct, frozen=True):
    """A part of the measured time, and the sample that stands for it: the nearest in time."""

    sample: DeviceSample
    steps: float  # its share of the measured steps
    seconds: float


class Monitored(Struct, frozen=True, dict=True):
    """A device in a launch, with the process that used it."""

    node: str  # empty if all of its benchmark ran on one node
    device: str  # its index
    process: ProcessResult
    teller: ProcessResult | None  # the process of its job that tells the rate
    in_use: Sequence[DeviceSample]  # what was sampled while anything used it

    @property
    def label(self) -> str:
        return f"GPU {self.device} of {self.node}" if self.node else f"GPU {self.device}"

    @property
    def launch(self) -> LaunchKey:
        return self.process.launch

    @property
    def accelerator(self) -> Payload:
        return self.process.record.gpu(self.device)

    @property
    def rate(self) -> float:
        """Units per second of its job; NaN if no process tells it."""
        series = self.teller and self.teller.series
        return series.mean if series else NAN

    @property
    def window(self) -> Window | None:
        return self.teller.window if self.teller else None

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The measured time, a stretch for each sample in it; empty if that is not known."""
        window = self.window
        if window is None:
            return ()
        seen: dict[float, DeviceSample] = {}
        for sample in self.process.record.samples[self.device]:
            if sample.time is not None and window.begin <= sample.time <= window.end:
                seen[sample.time] = sample
        if not seen:
            return ()
        times = sorted(seen)
        steps, seconds = (shares.tolist() for shares in window.shares(times))
        return tuple(map(Stretch, map(seen.__getitem__, times), steps, seconds))

    @property
    def measured(self) -> Sequence[DeviceSample]:
        return [stretch.sample for stretch in self.stretches] or self.in_use


class MonitoredHost(Struct, frozen=True):
    """A host in a launch, with the process of whose file its samples are."""

    node: str  # empty if all of its benchmark ran on one node
    process: ProcessResult
    teller: ProcessResult | None  # the process of its job that tells the rate

    @property
    def measured(self) -> list[HostSample]:
        """The samples of the measured steps; without any, all."""
        return inside(self.teller.window if self.teller else None, self.process.record.host)


def inside(window: Window | None, samples: list[Sample]) -> list[Sample]:
    """The samples of the measured steps; all where these are not known, or have none."""
    if window is None:
        return samples
    found = [each for each in samples if window.begin <= (each.time or 0.0) <= window.end]
    return found or samples


def monitored(processes: Processes) -> tuple[Monitored, ...]:
    """Each device that was in use, in each launch."""
    found = []
    for process, teller in zip(processes, tellers(processes), strict=True):
        devices: dict[str, list[DeviceSample]] = {}
        for device, sample in samples_in_use(process.record):
            devices.setdefault(device, []).append(sample)
        for device, samples in devices.items():
            found.append(Monitored(process.record.place[1], device, process, teller, samples))
    return tuple(found)


def monitored_hosts(processes: Processes) -> tuple[MonitoredHost, ...]:
    """Each host that was sampled, in each launch."""
    found = []
    for process, teller in zip(processes, tellers(processes), strict=True):
        if process.record.host:
            found.append(MonitoredHost(process.record.place[1], process, teller))
    return tuple(found)


def tellers(processes: Processes) -> list[ProcessResult | None]:
    """The process of the job of each that tells the rate; on several nodes, one tells for all."""
    found: dict[tuple[object, ...], ProcessResult] = {}
    for process in processes:
        if process.series is not None:
            found.setdefault((process.run.path, process.record.job), process)
    return [found.get((each.run.path, each.record.job)) for each in processes]


def samples_in_use(record: Record) -> Iterator[tuple[str, DeviceSample]]:
    """The samples of a process's own devices while they were in use, with the device's index."""
    for device, samples in record.samples.items():
        if record.device is None or device == str(record.device):
            for sample in samples:
                if sample.used != 1 and sample.load != 0:
                    yield device, sample
