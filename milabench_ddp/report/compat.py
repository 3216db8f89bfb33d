"""milabench's own statistics, to the last digit: section 4 of its formats, oddities included.

All files of a benchmark are pooled, with their warm-up, and with failed processes. A file without
exactly one ``start`` and one ``end`` is not counted at all: neither as a process nor as a failure.
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated

from msgspec import Struct

from ..codec import about
from ..config.schema import is_of_each_node, recorded_jobs
from ..grouping import grouped
from ..numerics import Floats, np
from ..results.columns import NumberColumn
from ..results.defects import DefectKind
from ..results.records import Payload, Record, is_number, machines_of
from ..samples import DeviceSample
from .monitored import samples_in_use
from .statistics.values import NAN, percentile, total

UNFIT = (
    DefectKind.NOT_OBJECT,
    DefectKind.NO_EVENT,
    DefectKind.BAD_EVENT,
    DefectKind.TWO_STARTS,
    DefectKind.TWO_ENDS,
    DefectKind.NO_START,
)


class MilabenchStatistics(Struct, frozen=True):
    """milabench's statistics of a list; its fields are keys of the JSON."""

    min: float
    q1: float
    median: float
    q3: float
    max: float
    mean: float
    std: float
    sem: float


class MilabenchSummary(Struct, frozen=True):
    """milabench's summary of the files of a benchmark; its fields are keys of the JSON."""

    n: Annotated[int, about("files that count")]
    ngpu: Annotated[int, about("devices of a launch")]
    successes: int
    failures: int
    train_rate: Annotated[MilabenchStatistics, about("units per second")]
    walltime: Annotated[MilabenchStatistics, about("seconds")]
    per_gpu: Annotated[Mapping[object, MilabenchStatistics], about("rates, by device")]
    gpu_load: Annotated[
        Mapping[str, Mapping[str, MilabenchStatistics]],
        about("by device: memory in MiB, load from 0 to 1, power in W"),
    ]


def why_left_out(record: Record) -> str:
    """The reason why milabench does not count a file; empty if it does."""
    start, end = record.start, record.end
    if not start:
        return "it has no `start`"
    if not end:
        return "it has no `end`"
    for defect in record.defects:
        if defect.kind in UNFIT:
            return str(defect.kind)
    if not (is_number(start.get("time")) and is_number(end.get("time"))):
        return "its `start` or its `end` has no time"
    if not record.stopped and "return_code" not in end:
        return "its `end` has no return code"
    if not all(map(is_number, record.losses.odd.values())):
        return "a loss is not a number"
    if isinstance(record.device, list | dict):
        return "its device is not an index"
    return ""


def succeeded(record: Record) -> bool:
    if record.stopped or not record.reports:
        return True
    code = record.end.get("return_code") if record.end else None
    return code == 0 and not record.losses.has_nan and bool(record.rates)


def ngpu(config: Payload) -> int:
    """The devices of a job: all of each of its nodes; the nodes where processes have one each."""
    count = machines_of(config)
    if not recorded_jobs(config.get("plan")):
        return count
    devices = config.get("devices")
    if is_of_each_node(config.get("plan")):
        count = 1
    return count * len(devices) if isinstance(devices, list) else 0


def statistics_of(values: Iterable[object]) -> MilabenchStatistics:
    """milabench's statistics; of 5 or more values, the smallest and the largest are dropped."""
    if isinstance(values, array):
        numbers = np.sort(np.asarray(values, float))
    else:
        known = [value for value in values if value is not None]
        told = sorted(filter(is_number, known))
        numbers = np.array(told if len(told) == len(known) else [], float)
    if not len(numbers):
        return MilabenchStatistics(*[NAN] * len(MilabenchStatistics.__struct_fields__))
    if len(numbers) >= 5:
        numbers = numbers[1:-1]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _sum(numbers) / len(numbers)
        variance = _sum((numbers - mean) ** 2) / len(numbers)
        std = math.sqrt(variance)
    sem = std / math.sqrt(len(numbers))
    if np.isnan(numbers).any():
        numbers = np.array([NAN])
    quarters = [percentile(numbers, share) for share in (0, 0.25, 0.5, 0.75, 1)]
    return MilabenchStatistics(*[*quarters, mean, std, sem])


def _sum(numbers: Floats) -> float:
    try:
        return total(numbers)
    except (OverflowError, ValueError):  # too large, or infinities of both signs
        return float(sum(numbers.tolist()))


def _all(told: Sequence[NumberColumn]) -> Iterable[object]:
    """The numbers of several files; as an array, unless a file holds others than finite ones."""
    whole = array("d")
    for numbers in told:
        found = numbers.values()
        if not np.isfinite(found).all():  # numbers that are not finite have no order
            return chain.from_iterable(told)
        whole.frombytes(found.tobytes())
    return whole


def summarize(records: Sequence[Record]) -> MilabenchSummary:
    walltimes = [
        record.end["time"] - record.start["time"]
        for record in records
        if record.start and record.end
    ]
    rates_by_device = grouped(
        (record.device, record.rates.rate)
        for record in records
        if record.device is not None and record.rates
    )
    samples_by_device = grouped(
        (device, sample)
        for record in records
        for device, samples in samples_in_use(record).items()
        for sample in samples
    )
    successes = sum(map(succeeded, records))
    return MilabenchSummary(
        n=len(records),
        ngpu=max(ngpu(record.config) for record in records),
        successes=successes,
        failures=len(records) - successes,
        train_rate=statistics_of(_all([record.rates.rate for record in records])),
        walltime=statistics_of(walltimes),
        per_gpu={device: statistics_of(_all(told)) for device, told in rates_by_device.items()},
        gpu_load={device: _load(found) for device, found in samples_by_device.items()},
    )


def _load(samples: Sequence[DeviceSample]) -> Mapping[str, MilabenchStatistics]:
    return {
        "memory": statistics_of(sample.used for sample in samples),
        "load": statistics_of(sample.load for sample in samples),
        "power": statistics_of(sample.power or 0 for sample in samples),
    }
