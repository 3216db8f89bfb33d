"""Finds which of many literals a text has, at about the cost of looking for a few of them.

The first bytes of a literal stand for it. For each of these there is a table that says, by a byte,
which groups of literals have one with this byte there: a bit for each of eight groups. A text that
is translated by the tables, and shifted by a byte for each, has a bit in all of them where a
literal of the group may begin; only there it is compared. Python does this with whole texts at
once, without a loop over their characters ("Teddy" of Hyperscan does it with vectors).
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from math import prod
from operator import add

_FIRST = 3  # bytes of a literal that stand for it
_GROUPS = 8
_FEW = 6  # literals that are found as fast one by one
_SHORT = 500  # characters of a text in which all are
_DENSE = 64  # bytes for each place where one may begin; with more places, all are
_MARKED = b"\0" + b"\1" * 255


class Literals:
    """Literals that are looked for together, in this order."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = literals

    def replace(self, text: str, replaced: Callable[[int, str], str]) -> str:
        """The text after ``replaced(number, text)`` for each literal that it then has, in order."""
        if len(text) < _SHORT or len(self._literals) <= _FEW:
            for number, literal in enumerate(self._literals):
                if literal in text:
                    text = replaced(number, text)
            return text
        possible = self._possible(text)
        if not possible:
            return text
        for number, literal in enumerate(self._literals):
            if number in possible and literal in text:
                before, text = text, replaced(number, text)
                if text != before:
                    possible = self._possible(text)
        return text

    def any_in(self, text: str) -> bool:
        if len(text) < _SHORT or len(self._literals) <= _FEW:
            return any(literal in text for literal in self._literals)
        return any(self._literals[number] in text for number in self._possible(text))

    def _possible(self, text: str) -> Collection[int]:
        """The numbers of the literals that may be in the text; no other is."""
        whole = _raw(text) + b"\0" * (_FIRST - 1)
        bits = -1
        for at, table in enumerate(self._tables):
            bits &= int.from_bytes(whole[at:].translate(table), "little")
        if not bits:
            return ()
        places = bits.to_bytes(len(whole), "little").translate(_MARKED)
        if places.count(1) > len(whole) // _DENSE:
            return range(len(self._literals))
        missing = dict(enumerate(self._parts))
        looked_for = tuple(self._parts)
        place = places.find(1)
        while place >= 0:
            if whole.startswith(looked_for, place):
                for number, part in list(missing.items()):
                    if whole.startswith(part, place):
                        del missing[number]
                looked_for = tuple(missing.values())
            place = places.find(1, place + 1)
        return set(range(len(self._literals))) - missing.keys()

    @cached_property
    def _parts(self) -> Sequence[bytes]:
        parts = []
        for literal in self._literals:
            raw = _raw(literal)
            behind = raw.lstrip(raw[:1])
            is_line = len(raw) - len(behind) >= _FIRST
            parts.append(behind if behind and is_line else raw)
        return parts

    @cached_property
    def _tables(self) -> Sequence[bytes]:
        """The groups by their bytes, for each of the first bytes."""
        tables = [bytearray(256) for _ in range(_FIRST)]
        for number, group in enumerate(self._groups()):
            for part in group:
                for at, table in enumerate(tables):
                    for byte in part[at : at + 1] or range(256):
                        table[byte] |= 1 << number
        return [bytes(table) for table in tables]

    def _groups(self) -> Sequence[Sequence[bytes]]:
        groups = [[part] for part in sorted(self._parts)]
        while len(groups) > _GROUPS:
            pairs = list(map(add, groups, groups[1:]))
            beginnings = list(map(_beginnings, pairs))
            at = beginnings.index(min(beginnings))
            groups[at : at + 2] = [pairs[at]]
        return groups


def _beginnings(group: Sequence[bytes]) -> int:
    return prod(len({part[at : at + 1] for part in group}) for at in range(_FIRST))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
