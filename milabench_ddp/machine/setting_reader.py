"""Reads the settings of this host: files alone, which hang no longer than a limit."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

from ..errors import shown_names
from ..hostlist import natural
from ..in_time import in_time
from ..node_settings import PciRegister, Settings, SettingSource, SettingValue

LIMIT = 5.0  # seconds: the firmware of a broken device may answer late, or never
_LONGEST = 200  # characters of a value
_SHOWN = 4  # places that are named
_CAPABILITIES, _EXTENDED = 0x34, 0x100  # where the lists of capabilities begin
_MOST = 96  # capabilities of a device
Told = Iterator[tuple[str, str]]  # places, each with its value
Gpus = Mapping[str, Mapping[str, Any]]  # as `accelerators` of the provenance has them


def read_settings(
    sources: Mapping[str, SettingSource],
    gpus: Gpus,
    root: Path = Path("/"),
    limit: float = LIMIT,
) -> Settings:
    """The settings that this host tells, by name; those that cannot be read are left out.

    Args:
        root: holds ``proc``, ``sys``, ``dev`` and ``etc``, as ``/`` does.
        limit: seconds; what is not read by then is not known.
    """
    found: Settings = {}

    def read_all() -> None:
        for name, source in sources.items():
            if values := _values(dict(_told(source, gpus, root))):
                found[name] = values

    with suppress(TimeoutError):
        in_time(read_all, limit)
    return dict(found)


def _values(told: Mapping[str, str]) -> tuple[SettingValue, ...]:
    places: dict[str, list[str]] = {}
    for place, value in told.items():
        places.setdefault(value[:_LONGEST], []).append(place)
    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    is_one = len(ordered) == 1
    return tuple(
        SettingValue(value, len(those), "" if is_one else shown_names(those, _SHOWN))
        for value, those in ordered
    )


def _told(source: SettingSource, gpus: Gpus, root: Path) -> Told:
    if not all(_places(root, pattern) for pattern in source.needs):
        return
    if source.gpu:
        for index, facts in gpus.items():
            yield from _part(f"GPU {index}", _fact(facts, source.gpu), _fact(facts, source.of))
        return
    for pattern in source.read:
        places = _places(root, pattern)
        places = [each for each in places if not (source.skip and re.search(source.skip, each))]
        told = [each for place in places for each in _of_place(source, pattern, root, place)]
        if told and source.count:
            told = [("", str(len(told)))]
        if told:
            yield from told
            return
    if source.absent:
        yield "", source.absent


def _places(root: Path, pattern: str) -> list[str]:
    return sorted((str(each.relative_to(root)) for each in root.glob(pattern)), key=natural)


def _fact(facts: object, path: str) -> str:
    """A fact by its name, with dots; empty where it is not known."""
    for name in path.split("."):
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return "" if facts is None else f"{facts:g}" if isinstance(facts, float) else str(facts)


def _of_place(source: SettingSource, pattern: str, root: Path, place: str) -> Told:
    pairs = zip(PurePath(pattern).parts, PurePath(place).parts, strict=True)
    name = "/".join(part for wanted, part in pairs if wanted != part)
    folder = root / place
    try:
        if source.register:
            yield name, str(_bits(folder / source.file, source.register))
            return
        text = _text(folder / source.file, source.match)
        yield from _part(name, text, _text(folder / source.of, source.match) if source.of else text)
    except (OSError, ValueError):  # the device is down, or only root may read it
        return


def _part(place: str, value: str, whole: str) -> Told:
    if value and whole:
        yield place, value if value == whole else f"{value} of {whole}"
    elif value:
        yield place, value


def _text(file: Path, match: str) -> str:
    is_named = file.exists() and not file.is_file()  # a folder or a device, which is there
    text = file.name if is_named else file.read_text(errors="replace").strip()
    return " ".join(dict.fromkeys(re.findall(match or r"\S+", text, re.MULTILINE)))


def _bits(file: Path, register: PciRegister) -> int:
    """The bits of a register, as a number that begins at the lowest of them.

    Raises:
        OSError, ValueError: the device has no such capability, or it cannot be read.
    """
    descriptor = os.open(file, os.O_RDONLY)

    def number(offset: int, size: int) -> int:
        data = os.pread(descriptor, size, offset)
        if len(data) < size:
            raise ValueError
        return int.from_bytes(data, "little")

    try:
        if register.extended and number(0x0E, 1) & 0x7F != 1:
            raise ValueError  # no bridge
        place = _EXTENDED if register.extended else number(_CAPABILITIES, 1)
        for _ in range(_MOST):  # each has its id and the place of the next one
            if place == 0:
                break
            head = number(place, 4)
            if head & (0xFFFF if register.extended else 0xFF) == register.capability:
                bits = number(place + register.offset, 2) & register.mask
                return bits // (register.mask & -register.mask)
            place = head >> 20 if register.extended else head >> 8 & 0xFF
        raise ValueError
    finally:
        os.close(descriptor)
