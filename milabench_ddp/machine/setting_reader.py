"""Reads the settings of this host: files alone, which hang no longer than a limit."""

import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import shown_names
from ..grouping import grouped
from ..hostlist import natural
from ..in_time import in_time
from ..node_settings import Settings, SettingSource, SettingValue

LIMIT = 5.0  # seconds: the firmware of a broken device may answer late, or never
_LONGEST = 200  # characters of a value
_SHOWN = 4  # places that are named
_ACS, _REDIRECTS = 0x0D, 0x0C  # the id of a capability, and two bits of its control word
_FIRST, _MOST = 0x100, 96  # where the list of extended capabilities begins, and its length
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
            if values := _values(_told(source, gpus, root)):
                found[name] = values

    with suppress(TimeoutError):
        in_time(read_all, limit)
    return dict(found)


def _values(told: Mapping[str, str]) -> tuple[SettingValue, ...]:
    places = grouped((told[place][:_LONGEST], place) for place in sorted(told, key=natural))
    ordered = sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))
    is_one = len(ordered) == 1
    return tuple(
        SettingValue(value, len(those), "" if is_one else shown_names(those, _SHOWN))
        for value, those in ordered
    )


def _told(source: SettingSource, gpus: Gpus, root: Path) -> dict[str, str]:
    """The places that tell a setting, each with its value."""
    if not all(any(root.glob(pattern)) for pattern in source.needs):
        return {}
    told: dict[str, str] = {}
    for index, facts in gpus.items():
        if value := _fact(facts, source.gpu):
            told[f"GPU {index}"] = _part(value, _fact(facts, source.of))
    for pattern in source.read:
        for place in root.glob(pattern):
            parts = place.relative_to(root).parts
            name = "/".join(part for part in parts if part not in pattern.split("/"))
            with suppress(OSError, ValueError):  # the device is down, or only root may read it
                if value := _of_place(source, place):
                    told[name] = value
    if source.absent and not told:
        return {"": source.absent}
    return told


def _fact(facts: object, path: str) -> str:
    """A fact by its name, with dots; empty where it is not known."""
    for name in path.split("."):
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return "" if facts is None else f"{facts:g}" if isinstance(facts, float) else str(facts)


def _of_place(source: SettingSource, place: Path) -> str:
    if source.acs:
        return _redirects(place)
    value = _text(place / source.file, source.match)
    return _part(value, _text(place / source.of, source.match)) if source.of else value


def _part(value: str, whole: str) -> str:
    return f"{value} of {whole}" if value and whole not in ("", value) else value


def _text(file: Path, match: str) -> str:
    is_named = file.exists() and not file.is_file()  # a folder or a device, which is there
    text = file.name if is_named else file.read_text(errors="replace")
    return " ".join(dict.fromkeys(re.findall(match or r"\S+", text, re.MULTILINE)))


def _redirects(config: Path) -> str:
    """Whether a PCI bridge redirects requests; empty where only root may know."""
    with config.open("rb", buffering=0) as space:
        place = _FIRST
        for _ in range(_MOST):  # each has its id, the place of the next one, and its own words
            space.seek(place)
            words = space.read(8)
            if place < _FIRST or len(words) < 8:
                return ""
            capability, following, control = struct.unpack("<HHxxH", words)
            if capability == _ACS:
                return "enabled" if control & _REDIRECTS else "disabled"
            place = following >> 4
    return ""
