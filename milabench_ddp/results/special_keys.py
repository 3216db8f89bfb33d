"""Adds what a payload tells under special keys: samples, facts, tables, and all about a rank."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from ..codec import convert
from ..samples import DeviceSample, HostSample, Number
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
_OF_RANKS: Mapping[str, type] = {
    "node": str,
    "startup": dict,
    "shares": dict,
    "buckets": list,
    "garbage_collections": dict,
}
_NOTHING = DeviceSample()
T = TypeVar("T")


def _read(value: object, kind: type[T]) -> T | None:
    with suppress(ValueError):
        return convert(value, kind)
    return None


def add_special(record: Record, data: Payload) -> Iterator[DefectKind]:
    if "gpudata" in data:
        yield from _add_samples(record, data["gpudata"], data.get("time"))
    if "hostdata" in data:
        host = _read(data["hostdata"], HostSample)
        if host is None:
            yield DefectKind.BAD_SAMPLE
        else:
            record.host.append(host)
    if "step_times" in data and not _take_steps(record, data["step_times"]):
        yield DefectKind.BAD_STEPS
    if isinstance(data.get("compute_dtype"), str):
        record.compute_dtype = data["compute_dtype"]
    for key in (*FACTS, *TABLES):
        told = data.get(key)
        if isinstance(told, dict) and key in TABLES:
            record.tables.setdefault(key, []).append(told)
        elif isinstance(told, dict) and data.get("rank", 0) == 0:
            record.facts.setdefault(key, {}).update(told)
    rank = data.get("rank", 0)
    if is_rank(rank):
        yield from _add_to_rank(record, rank, data)


def _add_samples(record: Record, gpudata: object, time: object) -> Iterator[DefectKind]:
    """Add the samples of devices; one that does not tell its own time is of that of the line."""
    if not isinstance(gpudata, dict):
        yield DefectKind.BAD_SAMPLE
        return
    # newer versions of milabench write the time among the devices
    time = gpudata.get("time", time)
    for device, readings in gpudata.items():
        if device == "time":
            continue
        sample = _read(readings, DeviceSample)
        if sample is None or sample == _NOTHING:
            yield DefectKind.BAD_SAMPLE
            continue
        if sample.time is None and is_finite(time):
            sample = replace(sample, time=float(time))
        record.samples.setdefault(device, []).append(sample)


def _take_steps(record: Record, times: object) -> bool:
    """Append step times to those of their rank; return whether they are usable."""
    match times:
        case {"rank": rank, "ms": list(ms), "wait_ms": list(wait_ms), **other} if is_rank(rank):
            parts = other.get("parts") or {}
            if isinstance(parts, dict) and all(isinstance(part, list) for part in parts.values()):
                return record.ranks.setdefault(rank, Rank()).take(ms, wait_ms, parts)
    return False


def _add_to_rank(record: Record, number: int, data: Payload) -> Iterator[DefectKind]:
    if isinstance(data.get("device"), dict):
        record.devices[number] = data["device"]
    peak = data.get("memory_peak")
    allocated, reserved = peak if isinstance(peak, list) and len(peak) == 2 else (None, peak)
    if isinstance(reserved, list) and len(reserved) == 1:
        reserved = reserved[0]
    told = {key: data[key] for key, kind in _OF_RANKS.items() if isinstance(data.get(key), kind)}
    if "rank" not in data:
        told.pop("node", None)
    if not told and not is_finite(reserved):
        return
    rank = record.ranks.setdefault(number, Rank())
    if is_finite(reserved):
        rank.reserved = max(float(reserved), rank.reserved)  # NaN is never greater
        if is_finite(allocated):
            rank.allocated = max(float(allocated), rank.allocated)
    rank.node = told.get("node", rank.node)
    rank.startup = _finite(told.get("startup", rank.startup))
    if "shares" in told:
        rank.shares, times = _finite(told["shares"]), data.get("part_ms")
        pairs = times.items() if isinstance(times, dict) else ()
        found = {part: _read(pair, tuple[Number, Number]) for part, pair in pairs}
        rank.part_ms = {part: pair for part, pair in found.items() if pair is not None}
    if "buckets" in told and not _take_buckets(rank, data):
        yield DefectKind.BAD_BUCKETS
    if "garbage_collections" in told:
        collections = _read(told["garbage_collections"], Collections)
        if collections is None:
            yield DefectKind.BAD_COLLECTIONS
        else:
            rank.collections = collections


def _finite(told: Payload) -> dict[str, float]:
    return {name: float(value) for name, value in told.items() if is_finite(value)}


def _take_buckets(rank: Rank, data: Payload) -> bool:
    """Take buckets from the number ``first_bucket`` on; return whether they are usable."""
    slowdown, first = data.get("overlap_slowdown"), data.get("first_bucket", 0)
    if is_finite(slowdown):
        rank.overlap_slowdown = float(slowdown)
    found = _read(data["buckets"], list[Bucket])
    if found is None or not is_rank(first) or first > len(rank.buckets):
        return False
    rank.buckets[first:] = found
    return True
