"""Which devices compute other bits than they should, by the digests that ``benchmarks/bits`` tells.

A device is wrong if a second pass from the same weights differs from its first one, or if it alone
differs from more than half of the devices that are like it. Where two or more of these agree in
other bits, no fault of one device explains it, but another library or setting would: then, as
where there is no majority, it cannot be told who is wrong.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, ValidationError, convert

from ..grouping import grouped
from ..results.records import Record
from .model import Row
from .once import once
from .ranks.rank_summary import rank_id

Pass = tuple[tuple[int, ...], ...]
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


class JudgedBits(Struct):
    """What a benchmark tells of the bits of its devices."""

    wrong: list[OtherBits] = []
    unclear: list[OtherBits] = []
    without: list[Record] = []  # a whole pass
    compared: int = 0  # devices with at least two passes, or with another one that is like it


class _Told(Struct, frozen=True):
    """What the lines of a process tell together."""

    like: dict[str, str | int | float | bool | None]
    tensors: tuple[str, ...]
    digests: Pass
    passes: float = 1.0
    first: FirstTensor | None = None


class _Device(Struct, frozen=True):
    record: Record
    told: _Told

    @property
    def like(self) -> tuple[object, ...]:
        """What devices have in common that have to agree."""
        driver = str(self.record.accelerators.get("driver"))
        facts = sorted(self.told.like.items())
        return (driver, *facts, *self.told.tensors, len(self.told.digests))


@once
def judged_bits(row: Row) -> JudgedBits:
    judged = JudgedBits()
    devices = []
    for process in row.processes:
        if device := _read(process.record):
            devices.append(device)
        elif process.record.tables.get("bits"):
            judged.without.append(process.record)
    for same in grouped((each.like, each) for each in devices).values():
        launches = grouped((rank_id(each.record, 0), each) for each in same)
        steady: list[_Device] = []
        for of_device in launches.values():
            first = of_device[0]
            usual = first.told.digests
            places = (each.told.first or _first_difference(each, usual) for each in of_device)
            if place := next(filter(None, places), None):
                judged.wrong.append(_difference([first], place))
            else:
                steady.append(first)
            has_passes = len(of_device) > 1 or first.told.passes > 1
            judged.compared += has_passes or len(launches) > 1
        _compare(steady, judged)
    return judged


def _read(record: Record) -> _Device | None:
    """None where the lines of the process do not have a whole pass."""
    lines = record.tables.get("bits", ())
    told = {name: value for line in lines for name, value in line.items()}
    told["digests"] = [line["digests"] for line in lines if "digests" in line]
    try:
        found = convert(told, _Told)
    except ValidationError:
        return None
    sizes = {len(digests) for digests in found.digests}
    return _Device(record, found) if sizes == {len(found.tensors)} else None


def _compare(devices: Sequence[_Device], judged: JudgedBits) -> None:
    """Add those of the devices, all like each other, that are wrong, and those that may be."""
    counts = Counter(each.told.digests for each in devices)
    if len(counts) < 2:
        return
    usual, most = counts.most_common(1)[0]
    odd = grouped((each.told.digests, each) for each in devices if each.told.digests != usual)
    for agreeing in odd.values():
        place = _first_difference(agreeing[0], usual)
        assert place is not None, "the passes are equal"
        if 2 * most <= len(devices):
            judged.unclear.append(_difference(devices, place))
            return
        found = judged.wrong if len(agreeing) == 1 else judged.unclear
        found.append(_difference(agreeing, place, most))


def _first_difference(device: _Device, usual: Pass) -> FirstTensor | None:
    for step, (own, other) in enumerate(zip(device.told.digests, usual, strict=True)):
        for tensor, digest, usual_digest in zip(device.told.tensors, own, other, strict=True):
            if digest != usual_digest:
                return FirstTensor(step, tensor)
    return None


def _difference(devices: Sequence[_Device], first: FirstTensor, usual: int = 0) -> OtherBits:
    tags = tuple(each.record.tag for each in devices)
    nodes = tuple(dict.fromkeys(each.record.node for each in devices))
    return OtherBits(tags, nodes, first, usual)
