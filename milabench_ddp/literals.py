"""Finds which of many literals a text has, in one pass over it."""

from collections.abc import Callable, Sequence
from functools import cached_property

from ahocorasick_rs import BytesAhoCorasick


class Literals:
    """Literals that are looked for together, in this order."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = literals

    def replace(self, text: str, replaced: Callable[[int, str], str]) -> str:
        """The text after ``replaced(number, text)`` for each literal that it then has, in order."""
        found = self.numbers_in(text)
        for number in range(len(self._literals)):
            if number in found:
                text = replaced(number, text)
                found = self.numbers_in(text)
        return text

    def numbers_in(self, text: str) -> set[int]:
        matches = self._automaton.find_matches_as_indexes(_raw(text), overlapping=True)
        return {number for number, _, _ in matches}

    @cached_property
    def _automaton(self) -> BytesAhoCorasick:
        return BytesAhoCorasick(list(map(_raw, self._literals)))


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # texts may have halves of surrogate pairs
