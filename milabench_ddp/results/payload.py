"""A payload of metrics of a `.data` file -> what a `Record` keeps of it."""

import math
from collections.abc import Callable
from typing import Any

from ..codec import convert
from ..samples import DeviceSample
from .rank import Rank
from .records import (
    FACTS,
    TABLES,
    DefectKind,
    Observation,
    Payload,
    Record,
    is_finite,
    is_rate,
)

ReportDefect = Callable[[DefectKind], None]


def add_payload(record: Record, data: Payload, report_defect: ReportDefect) -> None:
    """Add a payload to a record; each damaged part is left out, and reported as a defect."""
    if "rate" in data and data.get("task") == "train":
        _rate(record, data["rate"], data, report_defect)
    if "train_rate" in data:
        _rate(record, data["train_rate"], data, report_defect)
    if "loss" in data:
        record.losses.append(data["loss"])
    if "gpudata" in data:
        _samples(record, data["gpudata"], report_defect)
    if "step_times" in data:
        _step_times(record, data["step_times"], report_defect)
    if "memory_peak" in data:
        _memory_peak(record, data)
    if isinstance(data.get("node"), str) and type(data.get("rank")) is int:
        _rank(record, data["rank"]).node = data["node"]
    if isinstance(data.get("shares"), dict):
        _parts(record, data)
    for key in FACTS:
        if isinstance(data.get(key), dict) and data.get("rank", 0) == 0:
            record.facts.setdefault(key, {}).update(data[key])
    for key in TABLES:
        if isinstance(data.get(key), dict):
            record.tables.setdefault(key, []).append(data[key])


def _rate(record: Record, rate: Any, data: Payload, report_defect: ReportDefect) -> None:
    steps, units = data.get("steps"), data.get("units")
    known = steps if isinstance(steps, int) and steps > 0 else None
    record.rates.append(Observation(rate, known, data.get("warmup") is True))
    if isinstance(units, str):
        record.units = record.units or units
    if not is_rate(rate):
        report_defect(DefectKind.BAD_RATE)


def _samples(record: Record, gpudata: Any, report_defect: ReportDefect) -> None:
    if not isinstance(gpudata, dict):
        report_defect(DefectKind.BAD_SAMPLE)
        return
    # newer files of milabench keep the time among the devices
    devices = {device: readings for device, readings in gpudata.items() if device != "time"}
    for device, sample in _converted(devices).items():
        if sample is None or sample.memory is None or sample.load is None:
            report_defect(DefectKind.BAD_SAMPLE)
        else:
            record.samples.setdefault(device, []).append(sample)


def _converted(devices: dict[str, Any]) -> dict[str, DeviceSample | None]:
    """The samples of all devices at once, which is the fast way; one by one if any is damaged."""
    try:
        return convert(devices, dict[str, DeviceSample | None])
    except ValueError:
        return {device: _sample(readings) for device, readings in devices.items()}


def _sample(readings: object) -> DeviceSample | None:
    try:
        return convert(readings, DeviceSample)
    except ValueError:
        return None


def _step_times(record: Record, times: Any, report_defect: ReportDefect) -> None:
    try:
        rank, ms, wait_ms = times["rank"], times["ms"], times["wait_ms"]
    except (LookupError, TypeError):
        report_defect(DefectKind.BAD_STEPS)
        return
    known = type(rank) is int and isinstance(ms, list) and isinstance(wait_ms, list)
    if not (known and _rank(record, rank).take(ms, wait_ms)):
        report_defect(DefectKind.BAD_STEPS)


def _memory_peak(record: Record, data: Payload) -> None:
    """Allocated and reserved, or one number, which is what was reserved."""
    peak, rank = data["memory_peak"], data.get("rank", 0)
    listed = peak if isinstance(peak, list) else [peak]
    if type(rank) is not int or not listed or not is_finite(listed[-1]):
        return
    known = _rank(record, rank)
    known.reserved = _greater(known.reserved, listed[-1])
    if len(listed) > 1 and is_finite(listed[0]):
        known.allocated = _greater(known.allocated, listed[0])


def _parts(record: Record, data: Payload) -> None:
    rank, part_ms = data.get("rank", 0), data.get("part_ms")
    if type(rank) is not int:
        return
    known = _rank(record, rank)
    known.shares = {name: share for name, share in data["shares"].items() if is_finite(share)}
    times: dict[str, tuple[float, float]] = {}
    for name, pair in part_ms.items() if isinstance(part_ms, dict) else ():
        if isinstance(pair, list) and len(pair) == 2 and all(map(is_finite, pair)):
            times[name] = float(pair[0]), float(pair[1])
    known.part_ms = times


def _rank(record: Record, rank: int) -> Rank:
    return record.ranks.get(rank) or record.ranks.setdefault(rank, Rank())


def _greater(known: float, value: float) -> float:
    return float(value) if math.isnan(known) else max(known, float(value))
