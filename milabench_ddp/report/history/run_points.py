"""What a history keeps of each run: the rate of each benchmark, and of each device in it."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ...grouping import grouped
from ...results.read_run import read_run
from ...results.records import Payload, Record, Run
from ..pooling import told_text
from ..process import (
    Processes,
    ProcessResult,
    counted,
    records_by_rank,
    series_by_launch,
    series_of_devices,
    units_of,
)
from ..ranks.rank_summary import summarize_ranks
from ..run_info import run_info
from ..statistics.interval import pooled_mean, why_no_mean
from ..statistics.values import mean

IRRELEVANT = ("device", "id", "uuid", "memory", "cpus")  # facts of a device that change nothing


class TrackedDevice(Struct, frozen=True):
    """A device, wherever it was in a run."""

    uuid: str  # empty if it was not recorded
    node: str
    index: str
    is_gpu: bool = True

    @property
    def key(self) -> str:
        return self.uuid or self.place

    @property
    def place(self) -> str:
        name = f"{'GPU' if self.is_gpu else 'device'} {self.index}"
        return f"{name} of {self.node}" if self.node else name


class DeviceSpeed(Struct, frozen=True):
    """A device in a benchmark of a run."""

    device: TrackedDevice
    speed: float  # units per second; of a rank that trains with others, steps of its own work
    kind: str  # what its peers have in common with it: the model, and the stages of a pipeline
    facts: Mapping[str, str] = {}  # that its driver tells, as text


class BenchmarkPoint(Struct, frozen=True):
    """A benchmark in a run that measured it."""

    rate: float
    unit: str
    devices: Mapping[str, DeviceSpeed] = {}  # by their keys


class RunPoint(Struct, frozen=True):
    """A run."""

    name: str
    path: Path
    started: float | None  # seconds since the epoch
    benchmarks: Mapping[str, BenchmarkPoint]
    without_rate: Mapping[str, str] = {}  # the reason, by benchmark

    @property
    def date(self) -> str:
        """When it began, in UTC; empty if that is not known."""
        if self.started is None:
            return ""
        return time.strftime("%Y-%m-%d %H:%M", time.gmtime(self.started))

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.name, self.date)))


def span(first: RunPoint, last: RunPoint) -> str:
    """Their dates, as far as they are known, or the one that both have."""
    return " to ".join(dict.fromkeys(filter(None, (first.date, last.date))))


def run_point(path: Path) -> RunPoint:
    run = read_run(path)
    processes = grouped((record.name, ProcessResult(run, record)) for record in run.records)
    benchmarks = {}
    without: dict[str, str] = {}
    for name, found in processes.items():
        if any(process.record.faults for process in found):
            without[name] = "faults are planted in it"
        elif point := _benchmark(counted(found)):
            benchmarks[name] = point
    for name, why in _without_rate(run, processes):
        if name not in benchmarks:
            without.setdefault(name, why)
    return RunPoint(run.name, path, run_info(run).started, benchmarks, without)


def _without_rate(run: Run, processes: Mapping[str, Processes]) -> Iterator[tuple[str, str]]:
    for name, found in processes.items():
        if why := why_no_mean(series_by_launch(counted(found))):
            yield name, why
        for process in found:
            if process.failed and process.verdict is not None:
                yield name, ": ".join(filter(None, (process.status, process.verdict.reason)))
    for name, verdict in run.verdicts.items():
        if not verdict.is_ok:
            yield name, ": ".join(filter(None, (verdict.outcome, verdict.reason)))


def _benchmark(measured: Processes) -> BenchmarkPoint | None:
    """A benchmark by the processes that count; None if they measured nothing, or several units."""
    units, series = units_of(measured), series_by_launch(measured)
    rate = pooled_mean(series)
    if len(units) > 1 or not rate > 0 or why_no_mean(series):
        return None
    alone = dict(_devices_alone(measured))
    return BenchmarkPoint(rate, "".join(units), alone or dict(_devices_of_ranks(measured)))


def _devices_alone(measured: Processes) -> Iterator[tuple[str, DeviceSpeed]]:
    records = records_by_rank(measured)
    for id, series in series_of_devices(measured).items():
        record = records[id]
        gpu = record.gpu(record.device)
        device = _device(record, record.device, id.node, gpu.get("uuid"))
        speed = mean(each.mean for each in series)
        yield device.key, DeviceSpeed(device, speed, str(gpu.get("product")), _facts(device, gpu))


def _devices_of_ranks(measured: Processes) -> Iterator[tuple[str, DeviceSpeed]]:
    records = records_by_rank(measured)
    for summary in summarize_ranks((each.record, each.unsteady_of) for each in measured):
        record, rank, node = records[summary.id], summary.id.rank, summary.id.node
        if not summary.local_ms > 0:
            continue
        indices = record.indices
        index = indices[rank % len(indices)] if indices else rank
        told = record.devices.get(rank, {})
        gpu = record.gpu(index) if node in ("", record.node) else {}
        device = _device(record, index, node, told.get("uuid") or gpu.get("uuid"))
        kind = f"{gpu.get('product') or told.get('name')} {summary.stages}"
        facts = _facts(device, gpu)
        yield device.key, DeviceSpeed(device, 1000 / summary.local_ms, kind, facts)


def _device(record: Record, index: object, node: str, uuid: object) -> TrackedDevice:
    host = told_text(record.meta, "os", "nodename")
    is_gpu = record.accelerators.get("arch") != "cpu"
    return TrackedDevice(
        uuid if isinstance(uuid, str) else "", node or record.node or host, str(index), is_gpu
    )


def _facts(device: TrackedDevice, gpu: Payload) -> Mapping[str, str]:
    facts = {"place": device.place}
    for name, value in gpu.items():
        if name not in IRRELEVANT and isinstance(value, str | int | float):
            facts[name] = str(value)
    return facts
