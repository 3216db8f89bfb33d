"""The last output of a process that failed: the lines of the failed rank, without torchrun's."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from ..files import read_bytes, read_end
from ..results.read import output_lines
from ..tracebacks import LAUNCHER_ERROR, LAUNCHER_LOG, LAUNCHER_STOPPED, OF_RANK, TRACEBACK

TAIL = 1 << 17  # bytes that are read from the end of a file; a traceback is far shorter
MOST_LINES = 2000
SHOWN = 20
LONGEST = 1000  # characters of a line that are shown

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
BAR = re.compile(r"(?:.*: )?\s*\d+%\|.*\|.*")  # of progress, as tqdm draws it
RULE = re.compile(r"^={20,}$")
ROOT_CAUSE = "Root Cause (first observed failure):"
RANK = re.compile(r"^\s*rank\s*:\s*(\d+)")


def cut(line: str) -> str:
    if len(line) <= LONGEST:
        return line
    return f"{line[:LONGEST]}... ({len(line)} characters)"


def tail(data: Path, stream: str) -> tuple[list[str], Path | None]:
    """The last lines that a process printed, and the file with its whole output.

    The output is in a file beside the ``.data`` file, such as ``.stderr``. milabench often writes
    it into the ``.data`` file instead.

    Args:
        stream: ``stdout`` or ``stderr``.

    Returns:
        the lines and the file; no lines and None if nothing was printed.
    """
    beside = data.with_suffix(f".{stream}")
    try:
        end = read_end(beside, TAIL + 1)
    except OSError:
        end = b""
    lines = end[-TAIL:].decode(errors="backslashreplace").split("\n")
    if len(end) > TAIL and any(lines[1:]):
        del lines[0]  # its beginning was not read
    if lines := _plain(lines):
        return lines, beside
    try:
        pieces = deque(output_lines(data, stream), MOST_LINES)
    except OSError:
        return [], None
    lines = _plain("".join(pieces).split("\n"))
    return lines, data if lines else None


def first_stack(data: Path) -> tuple[list[str], Path]:
    """The first of the stacks of a process, that of the rank that hangs, and the file with all.

    Returns:
        the lines, none if it does not tell its stack: then its output says more; and the file.
    """
    whole = data.with_suffix(".stacks")
    try:
        text = read_bytes(whole, TAIL).decode(errors="backslashreplace")
    except OSError:
        text = ""
    first = list(takewhile(bool, _plain(text.split("\n"))))
    return first if any(line.startswith('  File "') for line in first) else [], whole


def _plain(lines: Iterable[str]) -> list[str]:
    shown = []
    for line in lines:
        _, _, last = line.rstrip("\r").rpartition("\r")  # what overwrote the rest
        plain = UNPRINTABLE.sub("", ESCAPES.sub("", last))
        shown.append(plain.rstrip())
    while shown and not shown[-1]:
        shown.pop()
    while shown and not shown[0]:
        shown.pop(0)
    return shown


def failed_rank(lines: Sequence[str]) -> int | None:
    """The rank that failed first, by torchrun's summary or the first traceback; None if unknown."""
    if ROOT_CAUSE in lines:
        for line in lines[lines.index(ROOT_CAUSE) :]:
            if found := RANK.match(line):
                return int(found[1])
    for line in lines:
        found = OF_RANK.match(line)
        if found and found[2].strip() == TRACEBACK:
            return int(found[1])
    return None


def of_rank(lines: Sequence[str], rank: int | None) -> list[str]:
    """The lines of a rank, or of all ranks if its lines are not marked."""
    own = []
    for line in lines:
        found = OF_RANK.match(line)
        if found and int(found[1]) == rank:
            own.append(line)
    if lines and not own and LAUNCHER_STOPPED.match(lines[-1]):
        return without_launcher(lines)
    return own or without_launcher(lines) or list(lines)


def without_launcher(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    in_summary = False
    rules = 0
    for line in lines:
        if in_summary:
            rules += bool(RULE.match(line))
            in_summary = rules < 2
        elif LAUNCHER_ERROR.match(line) or LAUNCHER_STOPPED.match(line):
            while kept and kept.pop() != TRACEBACK:
                pass
            in_summary, rules = not LAUNCHER_STOPPED.match(line), 0
        elif not LAUNCHER_LOG.match(line):
            kept.append(line)
    return kept
