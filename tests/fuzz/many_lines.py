"""Many lines of a few kinds: what is read at once is what is read line by line."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.told_lines import PAYLOADS, hostile
from tests.support.result_files import config, end, start, write
from tests.support.told_records import told

LONGEST = 6000  # characters of a line
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Lines:
    """Lines that are alike: in the k-th, k is added to the numbers at these places.

    The places are those of the numbers in a line, also of those in its keys and texts.
    """

    payload: str
    places: frozenset[int]
    count: int

    def line(self, k: int) -> str:
        """The k-th line."""
        seen = iter(range(len(self.payload)))

        def numbered(found: re.Match[str]) -> str:
            return str(int(found[0]) + k) if next(seen) in self.places else found[0]

        data = _NUMBER.sub(numbered, self.payload)
        return f'{{"event": "data", "data": {data}, "pipe": "data"}}\n'


@dataclass(frozen=True)
class File:
    """The lines of a result file, and how many are read at once."""

    lines: tuple[Lines, ...]
    in_turn: bool
    block: int  # bytes


_numbered = [{**payload, "loss_of_7": 0.5, "note": "part 3"} for payload in PAYLOADS]
_payloads = st.sampled_from([json.dumps(each) for each in (*PAYLOADS, *_numbered)]) | hostile.map(
    lambda line: line.decode(errors="replace").replace("\n", " ")[:LONGEST]
)
_lines = st.builds(
    Lines, _payloads, st.frozensets(st.integers(0, 12), max_size=6), st.integers(1, 60)
)
files = st.builds(
    File,
    st.lists(_lines, min_size=1, max_size=4).map(tuple),
    st.booleans(),
    st.sampled_from([1, 300, 2000, 10_000]),
)


def check(file: File, folder: Path) -> None:
    """Whatever is read at once: the record is the same."""
    path = write(folder, "b.D0", config("b"), start(), *_text(file), end())
    assert told(path, block=file.block) == told(path, one_by_one=True)


def _text(file: File) -> Sequence[str]:
    numbered = [(k, lines) for lines in file.lines for k in range(lines.count)]
    if file.in_turn:
        numbered.sort(key=lambda each: each[0])
    return [lines.line(k) for k, lines in numbered]
