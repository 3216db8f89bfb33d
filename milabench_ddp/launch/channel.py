"""The metrics channel of a process: a named pipe, its bytes as whole lines, and lines as events.

The channel is a path, not an inherited descriptor: torchrun starts its workers with
``close_fds=True``, so a descriptor does not reach them, but a path in the environment does. Writes
of at most PIPE_BUF (4,096) bytes are atomic, so all ranks of a torchrun may share one pipe.

A line does not show which rank wrote it. A program whose ranks each write rates must therefore tell
`rank` in each line; where it does not, the ranks that opened the channel are the only sign that
there were several. inotify says when it is opened, and /proc by which processes: nothing is asked
while the program computes.
"""

import ctypes
import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ..codec import loads
from ..events import OWN_EVENTS, OWN_KEYS, Data, Event, Metrics, Note
from ..metric_line import ordinary_lines
from . import reap

METRICS = "MILABENCH_METRICS"
START = "MILABENCH_START"  # the start barrier: a pipe that ends for all its readers at once

LABEL = re.compile(rb" *(\d+): ")
"""The beginning of a line of one of several tasks, as ``srun --label`` writes it."""

LONGEST_LINE = 1 << 20
"""Bytes after which a line is split into pieces, because a program may never end it."""

_CAPACITY = 1 << 20  # bytes a program may write before it must wait for the reader
_IN_OPEN = 0x20
_CHUNK = 1 << 16  # bytes of events of inotify that are read at once
_SHOWN = 500  # characters kept of a line that is not an event


class Fifo:
    """The reading end of a named pipe. It also holds a writing end, so programs cannot end it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(PermissionError):  # the user's pipes are at their limit: 64 KiB is enough
            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _CAPACITY)

    def close(self) -> None:
        """Close and remove it; a program that still writes gets EPIPE."""
        os.close(self.fd)
        self.path.unlink(missing_ok=True)


class LineBuffer:
    """Reassembles lines from the pieces in which they arrive.

    Args:
        longest: bytes after which a line is split into pieces.
    """

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._rest, self._longest = bytearray(), longest

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that this chunk completes, each with its newline."""
        text = self.take(chunk)
        begin = 0
        while (end := text.find(b"\n", begin)) >= 0:
            yield text[begin : end + 1]
            begin = end + 1
        if begin < len(text):
            yield text[begin:]

    def take(self, chunk: bytes) -> bytes:
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._rest += chunk
            return self.rest() if len(self._rest) > self._longest else b""
        whole = self.rest() + chunk[:end]
        self._rest += chunk[end:]
        return whole

    def rest(self) -> bytes:
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


def parse_lines(tag: str, time: float, text: bytes) -> Iterator[Event]:
    """The events in lines that were read together: ordinary lines at once, any other by itself."""
    if lines := ordinary_lines(text):
        yield Metrics(tag, time, text, lines)
        return
    middle = text.find(b"\n", len(text) // 2) + 1
    if not 0 < middle < len(text):
        middle = text.rfind(b"\n", 0, len(text) // 2) + 1
    if 0 < middle < len(text):
        yield from parse_lines(tag, time, text[:middle])
        yield from parse_lines(tag, time, text[middle:])
    elif text:
        yield parse_line(tag, time, text)


def parse_line(tag: str, time: float, line: bytes) -> Event:
    """The event in a line; a line that cannot be read becomes a Note that says so.

    ``{"$event": ..., "$data": ...}`` is a Note of that name, any other object is Data. What only we
    write is not taken from a program: neither events of ``OWN_EVENTS``, nor ``OWN_KEYS``, which it
    keeps as ``program.gpudata`` and the like.
    """
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return Note(tag, time, "binary", line.decode("utf-8", "backslashreplace")[:_SHOWN])
    try:
        value = loads(text)
    except ValueError as error:
        return _format_error(tag, time, text, str(error))
    if not isinstance(value, dict):
        return _format_error(tag, time, text, "not an object")
    if value.get("$event") is None:
        return Data(tag, time, _own(value))
    kind, data = str(value["$event"]), value.get("$data")
    if kind == "data" and isinstance(data, dict):
        return Data(tag, time, _own(data))
    if kind in OWN_EVENTS:
        return _format_error(tag, time, text, f"only milabench writes the event `{kind}`")
    return Note(tag, time, kind, data)


def _own(payload: dict[str, object]) -> dict[str, object]:
    if payload.keys().isdisjoint(OWN_KEYS):
        return payload
    return {f"program.{key}" if key in OWN_KEYS else key: payload[key] for key in payload}


def _format_error(tag: str, time: float, text: str, error: str) -> Note:
    return Note(tag, time, "format_error", {"line": text.strip()[:_SHOWN], "error": error})


class ChannelRanks:
    """The ranks that opened a metrics channel, by their variable ``RANK``.

    ``fd`` is readable when the channel was opened; ``look`` then finds out by whom. A rank that
    opens it for a single line is seldom seen: then only ``opened`` shows that it may not be alone.
    The kernel may count two openings as one, if they follow each other at once.
    """

    def __init__(self, path: Path, find: Callable[[], set[int]]) -> None:
        self.ranks: set[int] = set()
        self._path, self._find = path, find
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd >= 0:  # else the user has too many watches: nothing is known of the ranks
            libc.inotify_add_watch(self.fd, os.fsencode(path), _IN_OPEN)
        self.opened, self._due = 0, 1  # how often so far, and at the next look

    def look(self) -> None:
        """Find the ranks that have the channel open now.

        A program may open it anew for each line, so the k-th look is after at least 2^k times.
        """
        with suppress(BlockingIOError):
            self.opened += len(os.read(self.fd, _CHUNK)) // 16  # the size of an event
        if self.opened < self._due:
            return
        self._due = 2 * self.opened
        for pid in self._find():
            with suppress(OSError):  # it is gone
                has_open = any(
                    fd.readlink() == self._path for fd in Path(f"/proc/{pid}/fd").iterdir()
                )
                if has_open and (rank := reap.rank(pid)) is not None:
                    self.ranks.add(rank)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
