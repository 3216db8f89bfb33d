"""Which devices compute other bits than they should, by the digests that ``benchmarks/bits`` tells.

A device is wrong if a second pass from the same weights differs from its first one, or if it alone
differs from more than half of the devices that are like it. Where two or more of these agree in
other bits, no fault of one device explains it, but another library or setting would: then, as
where there is no majority, it cannot be told who is wrong.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct, ValidationError, convert

from ..results.records import Record
from .grouping import grouped
from .model import Row
from .once import once
from .ranks.rank_summary import RankId, rank_id

WORD = 8  # bytes of a digest

Pass = tuple[bytes, ...]
"""The digests of a pass, by step: those of all tensors, as they were computed."""


class FirstTensor(Struct, frozen=True):
    """Where bits differ first."""

    step: int
    tensor: str


class OtherBits(Struct, frozen=True):
    """Devices whose bits differ from those of others, or of themselves."""

    tags: tuple[str, ...]  # of their processes
    nodes: tuple[str, ...]
    first: FirstTensor  # in which they differ
    usual: int = 0  # how many devices, more than half, agree in other bits; 0: there are none


class JudgedBits(Struct, frozen=True):
    """What a benchmark tells of the bits of its devices."""

    wrong: tuple[OtherBits, ...] = ()
    unclear: tuple[OtherBits, ...] = ()
    compared: int = 0  # devices with at least two passes, or with another one that is like it


class _Told(Struct):
    """A line; which of these it has depends on its kind."""

    like: dict[str, str | int | float | bool | None] = {}
    tensors: list[str] = []
    step: int = -1
    digests: str = ""
    passes: float = 0.0
    first: FirstTensor | None = None


class _Device(Struct, frozen=True):
    """The passes of a process."""

    record: Record
    like: tuple[object, ...]
    tensors: Sequence[str]
    bits: Pass
    passes: float
    differs: FirstTensor | None  # from its own first pass


@once
def judged_bits(row: Row) -> JudgedBits:
    found = [each for each in map(_read, (it.record for it in row.processes)) if each]
    by_device = grouped((rank_id(each.record, 0), each) for each in found)
    wrong: list[OtherBits] = []
    unclear: list[OtherBits] = []
    compared: set[RankId] = set()
    steady: dict[tuple[object, ...], dict[RankId, _Device]] = {}
    for device, launches in by_device.items():
        place = _differs_from_itself(launches)
        if place is not None:
            wrong.append(_difference([launches[0]], place))
            compared.add(device)
            continue
        if any(each.passes > 1 for each in launches) or len(launches) > 1:
            compared.add(device)
        for each in launches:
            steady.setdefault(each.like, {})[device] = each
    for same in steady.values():
        if len(same) > 1:
            compared |= set(same)
        more_wrong, more_unclear = _compare(list(same.values()))
        wrong += more_wrong
        unclear += more_unclear
    return JudgedBits(tuple(wrong), tuple(unclear), len(compared))


def _read(record: Record) -> _Device | None:
    """The passes of a process; None where its lines do not have a whole one."""
    told = _Told()
    digests: dict[int, bytes] = {}
    for payload in record.tables.get("bits", ()):
        with suppress(ValidationError, binascii.Error):
            line = convert(payload, _Told)
            told.like, told.tensors = line.like or told.like, line.tensors or told.tensors
            told.passes, told.first = line.passes or told.passes, line.first or told.first
            if line.digests:
                digests[line.step] = base64.b64decode(line.digests, validate=True)
    steps, size = told.like.get("steps"), WORD * len(told.tensors)
    if not size or not digests or sorted(digests) != list(range(len(digests))):
        return None
    if len(digests) != steps or any(len(each) != size for each in digests.values()):
        return None
    like = (str(record.accelerators.get("driver")), *sorted(told.like.items()), *told.tensors)
    bits = tuple(digests[step] for step in sorted(digests))
    return _Device(record, like, told.tensors, bits, told.passes, told.first)


def _differs_from_itself(launches: Sequence[_Device]) -> FirstTensor | None:
    first: dict[tuple[object, ...], _Device] = {}
    for each in launches:
        if each.differs is not None:
            return each.differs
        known = first.setdefault(each.like, each)
        if known.bits != each.bits:
            return _first_difference(each, known.bits)
    return None


def _compare(devices: Sequence[_Device]) -> tuple[list[OtherBits], list[OtherBits]]:
    """Those of the devices, all like each other, that are wrong, and those that may be."""
    counts = Counter(each.bits for each in devices)
    if len(counts) < 2:
        return [], []
    usual, most = counts.most_common(1)[0]
    odd = grouped((each.bits, each) for each in devices if each.bits != usual)
    if 2 * most <= len(devices):
        place = _first_difference(next(iter(odd.values()))[0], usual)
        return [], [_difference(devices, place)]
    wrong: list[OtherBits] = []
    unclear: list[OtherBits] = []
    for agreeing in odd.values():
        found = wrong if len(agreeing) == 1 else unclear
        found.append(_difference(agreeing, _first_difference(agreeing[0], usual), most))
    return wrong, unclear


def _first_difference(device: _Device, usual: Pass) -> FirstTensor:
    for step, (own, other) in enumerate(zip(device.bits, usual, strict=True)):
        for number, tensor in enumerate(device.tensors):
            part = slice(WORD * number, WORD * (number + 1))
            if own[part] != other[part]:
                return FirstTensor(step, tensor)
    raise ValueError("the passes are equal")


def _difference(devices: Sequence[_Device], first: FirstTensor, usual: int = 0) -> OtherBits:
    tags = tuple(each.record.tag for each in devices)
    nodes = tuple(dict.fromkeys(each.record.node for each in devices))
    return OtherBits(tags, nodes, first, usual)
