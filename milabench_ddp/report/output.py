"""What a process said before it failed: the lines of the failed rank, without the launcher's."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..results.read_events import output_lines

TAIL = 1 << 17  # bytes of a file that are looked at; a traceback is far shorter
MOST_LINES = 2000
SHOWN = 20

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
TRACEBACK = "Traceback (most recent call last):"
OF_RANK = re.compile(r"^\[[a-z]+(\d+)\]:(.*)$")  # PyTorch's [rank1], torchrun's [default1]
LAUNCHER_LOG = re.compile(
    r"^(?:[IWE]\d{4} .* torch/distributed/|\[\d{4}-\d\d-\d\d .*\] torch\.distributed\.)"
)
LAUNCHER_ERROR = re.compile(r"^torch\.distributed\.elastic\.multiprocessing\.errors\.")
# torchrun's answer to the signal that ended it: the sender of the signal has recorded why
LAUNCHER_STOPPED = re.compile(
    r"^torch\.distributed\.elastic\.multiprocessing\.api\.SignalException: Process \d+ got signal"
)
RULE = re.compile(r"^={20,}$")
ROOT_CAUSE = "Root Cause (first observed failure):"
RANK = re.compile(r"^\s*rank\s*:\s*(\d+)")


def tail(data: Path, stream: str) -> tuple[list[str], Path | None]:
    """The last lines on ``stream`` of the process of a ``.data`` file, and the file with all.

    milabench's ``.data`` files hold the output themselves, and often no ``.stderr`` lies beside.
    (nothing, None) where nothing was printed.
    """
    beside = data.with_suffix(f".{stream}")
    try:
        with beside.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            lines = file.read().decode(errors="backslashreplace").split("\n")
    except OSError:
        size, lines = 0, []
    if lines := _plain(lines[1:] if size > TAIL else lines):
        return lines, beside
    try:
        pieces = deque(output_lines(data, stream), MOST_LINES)
    except OSError:
        return [], None
    lines = _plain("".join(pieces).split("\n"))
    return lines, data if lines else None


def _plain(lines: Iterable[str]) -> list[str]:
    """The lines as a terminal would show them in the end, without colours; empty ends cut off."""
    shown = []
    for line in lines:
        _, _, last = line.rstrip("\r").rpartition("\r")  # what it was overwritten with
        plain = UNPRINTABLE.sub("", ESCAPES.sub("", last))
        shown.append(plain.rstrip())
    while shown and not shown[-1]:
        shown.pop()
    while shown and not shown[0]:
        shown.pop(0)
    return shown


def failed_rank(lines: Sequence[str]) -> int | None:
    """The rank that failed first: by torchrun's summary, else the first that has a traceback."""
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
    """The last lines of a rank, or of all ranks where it cannot be told from the others."""
    own = []
    for line in lines:
        found = OF_RANK.match(line)
        if found and int(found[1]) == rank:
            own.append(line)
    if lines and not own and LAUNCHER_STOPPED.match(lines[-1]):
        return without_launcher(lines)[-SHOWN:]
    return (own or without_launcher(lines) or list(lines))[-SHOWN:]


def without_launcher(lines: Sequence[str]) -> list[str]:
    """The lines without what torchrun adds: its log, its own traceback, its summary."""
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
