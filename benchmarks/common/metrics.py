"""Metrics out of a measured program: JSON lines for a supervisor, or text for a person.

Under ``milabench run`` the environment variable ``MILABENCH_METRICS`` names a FIFO. Each line is
one JSON object and one ``write`` of at most ``PIPE_BUF`` bytes, because only such writes stay whole
where the ranks of a torchrun share the FIFO. Without the variable the program runs alone and its
metrics are printed.
"""

import errno
import json
import os
import select
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.common import console

LINE_LIMIT = select.PIPE_BUF  # bytes, the newline included
CHUNK = 128  # steps in a line of step times: two lists of 12 characters a value fit the limit


class LineTooLongError(ValueError):
    """A payload does not fit into one atomic write."""


def encode(payload: Mapping[str, Any]) -> bytes:
    """One line of the wire format; ``LineTooLongError`` where it would not be atomic."""
    line = json.dumps(payload, separators=(",", ":")).encode() + b"\n"
    if len(line) > LINE_LIMIT:
        raise LineTooLongError(f"{len(line)} bytes, at most {LINE_LIMIT} fit: {line[:80]!r}")
    return line


def split(payload: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The payload itself, or, of step times, one for each ``CHUNK`` steps."""
    times = payload.get("step_times")
    if times is None:
        yield payload
        return
    for k in range(0, len(times["ms"]), CHUNK):
        lists = {name: times[name][k : k + CHUNK] for name in ("ms", "wait_ms")}
        yield {**payload, "step_times": {**times, "from": times["from"] + k, **lists}}


class Channel:
    """The way to the supervisor; when the reader is gone, what is sent goes nowhere."""

    def __init__(self, path: str) -> None:
        """Open the FIFO (or file) at ``path``, without waiting for a reader."""
        try:
            self._fd: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: a FIFO whose reader is gone already
                raise
            self._fd = None
        else:
            os.set_blocking(self._fd, True)  # a slow reader delays the program, it loses nothing

    def __call__(self, payload: Mapping[str, Any]) -> None:
        """Send one payload, in several lines where one could not hold it."""
        for part in split(payload):
            line = encode(part)
            if self._fd is None:
                return
            try:
                os.write(self._fd, line)
            except BrokenPipeError:  # the supervisor is gone: nobody need die of it
                os.close(self._fd)
                self._fd = None


class Emitter:
    """Says what a program measured; the methods are the vocabulary of the wire format."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None], rank: int = 0) -> None:
        """Send payloads to ``send`` in the name of ``rank``."""
        self._send = send
        self.rank = rank

    @classmethod
    def from_environment(cls) -> "Emitter":
        """The emitter of this process: its rank and its channel are in the environment."""
        path = os.environ.get("MILABENCH_METRICS")
        return cls(Channel(path) if path else console.show, int(os.environ.get("RANK", "0")))

    def data(self, task: str, **fields: Any) -> None:
        """A payload of metrics of ``task``; ``rank`` is this process's unless given."""
        self._send({"task": task, "rank": self.rank} | fields)

    def event(self, name: str, **fields: Any) -> None:
        """Something other than a metric: ``ready``, ``begin``, ``error``."""
        self._send({"$event": name, "$data": fields})

    def rate(
        self, task: str, rate: float, units: str, *, step: int, elapsed: float, **more: Any
    ) -> None:
        """One observation of speed that ends with ``step``, ``elapsed`` seconds into its phase."""
        now = round(time.time(), 6)
        self.data(
            task, rate=rate, units=units, time=now, elapsed=round(elapsed, 6), step=step, **more
        )

    def step_times(
        self, rank: int, first: int, ms: Sequence[float], wait_ms: Sequence[float]
    ) -> None:
        """Every step of a rank from step ``first`` on: its time, and the wait for data in it."""
        times = {
            "rank": rank,
            "from": first,
            "ms": [round(value, 4) for value in ms],  # to 0.1 us
            "wait_ms": [round(value, 4) for value in wait_ms],
        }
        if times["ms"]:
            self.data("main", step_times=times)
