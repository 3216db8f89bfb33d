"""What the monitor saw of each device and host in each launch of a benchmark."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from ..grouping import grouped
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


def label_of(device: str, node: str) -> str:
    return f"GPU {device} of {node}" if node else f"GPU {device}"


class Monitored(Struct, frozen=True, dict=True):
    """A device in a launch, with the process that used it."""

    node: str  # empty if all of its benchmark ran on one node
    device: str  # its index
    process: ProcessResult
    teller: ProcessResult | None  # the process of its job that tells the rate
    in_use: list[DeviceSample]  # what was sampled while anything used it

    @property
    def label(self) -> str:
        return label_of(self.device, self.node)

    @property
    def launch(self) -> LaunchKey:
        return self.process.launch

    @property
    def accelerator(self) -> Payload:
        return self.process.record.gpu(self.device)

    @property
    def rate(self) -> float:
        """Units per second of its job; NaN if it has none."""
        return self.teller.rate if self.teller else NAN

    @property
    def window(self) -> Window | None:
        return self.teller.window if self.teller else None

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        """The measured time, a stretch for each sample in it; empty if that is not known."""
        samples = within(self.window, self.process.record.samples[self.device])
        seen = {sample.time or 0.0: sample for sample in samples}
        if self.window is None or not seen:
            return ()
        times = sorted(seen)
        steps, seconds = (shares.tolist() for shares in self.window.shares(times))
        return tuple(map(Stretch, map(seen.__getitem__, times), steps, seconds))

    @property
    def measured(self) -> list[DeviceSample]:
        return [stretch.sample for stretch in self.stretches] or self.in_use


def within(window: Window | None, samples: Iterable[Sample]) -> list[Sample]:
    """The samples of the measured time; none if that is not known."""
    found = []
    for sample in samples:
        time = sample.time
        if window is not None and time is not None and window.begin <= time <= window.end:
            found.append(sample)
    return found


def inside(window: Window | None, samples: list[Sample]) -> list[Sample]:
    """The samples of the measured time; all where that is not known, or has none."""
    return within(window, samples) or samples


def monitored(processes: Processes) -> tuple[Monitored, ...]:
    found = []
    for process, teller in with_tellers(processes):
        for device, samples in samples_in_use(process.record).items():
            found.append(Monitored(process.record.place[1], device, process, teller, samples))
    return tuple(found)


def host_samples(processes: Processes) -> dict[str, list[HostSample]]:
    """The samples of each host in the measured steps of all launches, by node.

    Of a launch without any, all of its samples.
    """
    found = grouped(
        (process.record.place[1], sample)
        for process, teller in with_tellers(processes)
        for sample in inside(teller.window if teller else None, process.record.host)
    )
    return dict(sorted(found.items()))


def with_tellers(processes: Processes) -> Iterator[tuple[ProcessResult, ProcessResult | None]]:
    """Each process with that of its job that tells the rate: of several nodes, one does."""
    found: dict[tuple[object, ...], ProcessResult] = {}
    for process in processes:
        if process.series is not None:
            found.setdefault((process.run.path, process.record.job), process)
    for process in processes:
        yield process, found.get((process.run.path, process.record.job))


def samples_in_use(record: Record) -> dict[str, list[DeviceSample]]:
    return {
        device: in_use
        for device, samples in own_samples(record)
        if (in_use := [sample for sample in samples if sample.used != 1 and sample.load != 0])
    }


def own_samples(record: Record) -> list[tuple[str, list[DeviceSample]]]:
    """The samples of each device of a process, with its index: of all, if it is alone on none."""
    alone = record.device
    return [each for each in record.samples.items() if alone is None or each[0] == str(alone)]
