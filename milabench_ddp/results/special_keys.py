"""Adds what a payload tells under special keys: samples, facts, tables, and all about a rank."""

from collections.abc import Callable
from typing import Any

import msgspec

from ..codec import convert
from ..samples import DeviceSample, HostSample
from .defects import DefectKind
from .rank import Bucket, Collections, Rank
from .rates import is_finite, is_rank
from .records import FACTS, TABLES, Payload, Record

WITHOUT_NUMBERS = frozenset(
    {"device", "gpudata", "hostdata", "step_times", "part_ms", "startup", "garbage_collections"}
    | {*TABLES}
)
"""The special keys under which no numbers stand that are told as such."""
SPECIAL = WITHOUT_NUMBERS | {
    *("node", "shares", "memory_peak", "buckets", "compute_dtype", *FACTS),
}
_NOTHING = DeviceSample()

ReportDefect = Callable[[DefectKind], None]


def add_special(record: Record, data: Payload) -> list[DefectKind]:
    """Add what a payload tells under special keys; return the kinds of its defects."""
    defects: list[DefectKind] = []
    if "gpudata" in data:
        _samples(record, data["gpudata"], data.get("time"), defects.append)
    if "hostdata" in data:
        _host(record, data["hostdata"], defects.append)
    if "step_times" in data and not _take_steps(record, data["step_times"]):
        defects.append(DefectKind.BAD_STEPS)
    if isinstance(data.get("compute_dtype"), str):
        record.compute_dtype = data["compute_dtype"]
    rank = data.get("rank", 0)
    if is_rank(rank):
        _add_to_rank(record, rank, data)
        if isinstance(data.get("buckets"), list) and not _take_buckets(_rank(record, rank), data):
            defects.append(DefectKind.BAD_BUCKETS)
        if isinstance(data.get("garbage_collections"), dict) and not _take_collections(
            _rank(record, rank), data
        ):
            defects.append(DefectKind.BAD_COLLECTIONS)
    for key in FACTS:
        if isinstance(data.get(key), dict) and data.get("rank", 0) == 0:
            record.facts.setdefault(key, {}).update(data[key])
    for key in TABLES:
        if isinstance(data.get(key), dict):
            record.tables.setdefault(key, []).append(data[key])
    return defects


def _samples(record: Record, gpudata: Any, time: Any, report_defect: ReportDefect) -> None:
    """Add the samples of devices; one that does not tell its own time is of that of the line."""
    if not isinstance(gpudata, dict):
        report_defect(DefectKind.BAD_SAMPLE)
        return
    # newer versions of milabench write the time among the devices
    devices = {device: readings for device, readings in gpudata.items() if device != "time"}
    when = gpudata.get("time", time)
    for device, sample in _converted(devices).items():
        if sample is None or sample == _NOTHING:
            report_defect(DefectKind.BAD_SAMPLE)
            continue
        if sample.time is None and is_finite(when):
            sample = msgspec.structs.replace(sample, time=float(when))
        record.samples.setdefault(device, []).append(sample)


def _converted(devices: dict[str, Any]) -> dict[str, DeviceSample | None]:
    try:
        return convert(devices, dict[str, DeviceSample | None])
    except ValueError:
        return {device: _sample(readings) for device, readings in devices.items()}


def _sample(readings: object) -> DeviceSample | None:
    try:
        return convert(readings, DeviceSample)
    except ValueError:
        return None


def _host(record: Record, hostdata: object, report_defect: ReportDefect) -> None:
    try:
        record.host.append(convert(hostdata, HostSample))
    except ValueError:
        report_defect(DefectKind.BAD_SAMPLE)


def _take_steps(record: Record, times: Any) -> bool:
    """Append step times to those of their rank; return whether they are usable."""
    match times:
        case {"rank": rank, "ms": list() as ms, "wait_ms": list() as wait_ms} if is_rank(rank):
            parts = times.get("parts") or {}
            if not _are_lists(parts):
                return False
            return _rank(record, rank).take(ms, wait_ms, parts)
    return False


def _are_lists(parts: Any) -> bool:
    return isinstance(parts, dict) and all(isinstance(found, list) for found in parts.values())


def _add_to_rank(record: Record, rank: int, data: Payload) -> None:
    if isinstance(data.get("device"), dict):
        record.devices[rank] = data["device"]
    if isinstance(data.get("node"), str) and "rank" in data:
        _rank(record, rank).node = data["node"]
    if isinstance(data.get("startup"), dict):
        told = data["startup"].items()
        _rank(record, rank).startup = {name: float(s) for name, s in told if is_finite(s)}
    if "memory_peak" in data:
        _memory_peak(record, rank, data["memory_peak"])
    if isinstance(data.get("shares"), dict):
        known = _rank(record, rank)
        known.shares = {part: share for part, share in data["shares"].items() if is_finite(share)}
        known.part_ms = _part_ms(data.get("part_ms"))


def _memory_peak(record: Record, rank: int, peak: Any) -> None:
    """Add a peak: allocated and reserved memory in MiB, or reserved memory alone."""
    match peak:
        case [allocated, reserved]:
            pass
        case [reserved] | reserved:
            allocated = None
    if not is_finite(reserved):
        return
    known = _rank(record, rank)
    known.reserved = max(float(reserved), known.reserved)  # NaN is never greater
    if is_finite(allocated):
        known.allocated = max(float(allocated), known.allocated)


def _part_ms(times: Any) -> dict[str, tuple[float, float]]:
    part_ms: dict[str, tuple[float, float]] = {}
    if isinstance(times, dict):
        for part, pair in times.items():
            match pair:
                case [mean, deviation] if is_finite(mean) and is_finite(deviation):
                    part_ms[part] = float(mean), float(deviation)
    return part_ms


def _take_buckets(rank: Rank, data: Payload) -> bool:
    """Take buckets from the number ``first_bucket`` on; return whether they are usable."""
    slowdown, first = data.get("overlap_slowdown"), data.get("first_bucket", 0)
    if is_finite(slowdown):
        rank.overlap_slowdown = float(slowdown)
    try:
        found = convert(data["buckets"], list[Bucket])
    except ValueError:
        return False
    if not all(is_finite(time) for each in found for time in each.known_ms):
        return False
    if not is_rank(first) or not 0 <= first <= len(rank.buckets):
        return False
    rank.buckets[first:] = found
    return True


def _take_collections(rank: Rank, data: Payload) -> bool:
    """Take the collections of a rank; return whether they are usable."""
    try:
        found = convert(data["garbage_collections"], Collections)
    except ValueError:
        return False
    times = found.ms, *found.step_ms, found.full_ms or 0.0, found.frozen_ms or 0.0
    if len(found.steps) != len(found.step_ms) or not all(map(is_finite, times)):
        return False
    if min(times) < 0:
        return False
    rank.collections = found
    return True


def _rank(record: Record, rank: int) -> Rank:
    return record.ranks.setdefault(rank, Rank())
