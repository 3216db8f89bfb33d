"""A payload of metrics of a `.data` file -> what a `Record` keeps of it."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from .rank import Rank
from .records import FACTS, TABLES, Kind, Observation, Record, Sample, is_finite, is_rate

Fault = Callable[[Kind], None]


def take(record: Record, data: Mapping[str, Any], fault: Fault) -> None:
    """Add a payload to a record; what is damaged in it is left out, and told to ``fault``."""
    if "rate" in data and data.get("task") == "train":
        _rate(record, data["rate"], data, fault)
    if "train_rate" in data:
        _rate(record, data["train_rate"], data, fault)
    if "loss" in data:
        record.losses.append(data["loss"])
    if "gpudata" in data:
        _samples(record, data["gpudata"], fault)
    if "step_times" in data:
        _step_times(record, data["step_times"], fault)
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


def _rate(record: Record, rate: Any, data: Mapping[str, Any], fault: Fault) -> None:
    steps, units = data.get("steps"), data.get("units")
    known = steps if isinstance(steps, int) and steps > 0 else None
    record.rates.append(Observation(rate, known, data.get("warmup") is True))
    if isinstance(units, str):
        record.units = record.units or units
    if not is_rate(rate):
        fault(Kind.BAD_RATE)


def _samples(record: Record, gpudata: Any, fault: Fault) -> None:
    if not isinstance(gpudata, dict):
        fault(Kind.BAD_SAMPLE)
        return
    for device, data in gpudata.items():
        if device == "time":  # newer files of milabench keep the time among the devices
            continue
        try:
            used, load = float(data["memory"][0]), float(data["load"])
            sample = Sample(used, load, float(data.get("power") or 0))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            fault(Kind.BAD_SAMPLE)
        else:
            record.samples.setdefault(device, []).append(sample)


def _step_times(record: Record, times: Any, fault: Fault) -> None:
    try:
        rank, ms, wait_ms = times["rank"], times["ms"], times["wait_ms"]
    except (LookupError, TypeError):
        fault(Kind.BAD_STEPS)
        return
    known = type(rank) is int and isinstance(ms, list) and isinstance(wait_ms, list)
    if not (known and _rank(record, rank).take(ms, wait_ms)):
        fault(Kind.BAD_STEPS)


def _memory_peak(record: Record, data: Mapping[str, Any]) -> None:
    """Allocated and reserved, or one number, which is what was reserved."""
    peak, rank = data["memory_peak"], data.get("rank", 0)
    listed = peak if isinstance(peak, list) else [peak]
    if type(rank) is not int or not listed or not is_finite(listed[-1]):
        return
    of = _rank(record, rank)
    of.reserved = _greater(of.reserved, listed[-1])
    if len(listed) > 1 and is_finite(listed[0]):
        of.allocated = _greater(of.allocated, listed[0])


def _parts(record: Record, data: Mapping[str, Any]) -> None:
    rank, part_ms = data.get("rank", 0), data.get("part_ms")
    if type(rank) is not int:
        return
    of = _rank(record, rank)
    of.shares = {name: share for name, share in data["shares"].items() if is_finite(share)}
    listed = part_ms.items() if isinstance(part_ms, dict) else ()
    of.part_ms = {
        name: (float(of_part[0]), float(of_part[1]))
        for name, of_part in listed
        if isinstance(of_part, list) and len(of_part) == 2 and all(map(is_finite, of_part))
    }


def _rank(record: Record, rank: int) -> Rank:
    return record.ranks.get(rank) or record.ranks.setdefault(rank, Rank())


def _greater(known: float, value: float) -> float:
    return float(value) if math.isnan(known) else max(known, float(value))
