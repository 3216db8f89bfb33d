"""Sends the metrics of a program: JSON lines to a supervisor, or text to a person.

Under ``milabench run`` the environment variable ``MILABENCH_METRICS`` names a FIFO. Each line is
one JSON object and one ``write`` of at most ``PIPE_BUF`` bytes, because only such writes stay in
one piece where the ranks of a torchrun share the FIFO. Without the variable the program runs alone
and its metrics are printed.
"""

import errno
import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

LINE_LIMIT = select.PIPE_BUF  # bytes, the newline included
CHUNK = 256  # times in a line of step times: 12 characters each fit the limit


class LineTooLongError(ValueError):
    """A payload does not fit into one atomic write."""


def encode(payload: Mapping[str, Any]) -> bytes:
    """One line of the protocol; raises ``LineTooLongError`` if writing it would not be atomic."""
    line = json.dumps(payload, separators=(",", ":")).encode() + b"\n"
    if len(line) > LINE_LIMIT:
        raise LineTooLongError(f"{len(line)} bytes, at most {LINE_LIMIT} fit: {line[:80]!r}")
    return line


def split_steps(payload: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The payload itself, or for step times a payload for every few steps: ``CHUNK`` times."""
    times = payload.get("step_times")
    if times is None:
        yield payload
        return
    parts = times.get("parts", {})
    size = max(CHUNK // (2 + len(parts)), 1)
    for k in range(0, len(times["ms"]), size):
        chunk = {**times, "from": times["from"] + k}
        for name in ("ms", "wait_ms"):
            chunk[name] = times[name][k : k + size]
        if parts:
            chunk["parts"] = {name: ms[k : k + size] for name, ms in parts.items()}
        yield {**payload, "step_times": chunk}


class Channel:
    """The way to the supervisor; when its reader is gone, payloads are dropped."""

    def __init__(self, path: str) -> None:
        try:
            self._fd: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:  # ENXIO: a FIFO whose reader is gone already
                raise
            self._fd = None
        else:
            os.set_blocking(self._fd, True)  # a slow reader delays the program; nothing is lost

    def __call__(self, payload: Mapping[str, Any]) -> None:
        for part in split_steps(payload):
            line = encode(part)
            if self._fd is None:
                return
            try:
                os.write(self._fd, line)
            except BrokenPipeError:  # the supervisor is gone; the program goes on
                os.close(self._fd)
                self._fd = None


class Emitter:
    """Reports the measurements of a program; each kind of message has a method."""

    def __init__(self, send: Callable[[Mapping[str, Any]], None], rank: int = 0) -> None:
        self._send = send
        self.rank = rank

    @classmethod
    def from_environment(cls) -> "Emitter":
        """The emitter of this process, whose rank and channel are in the environment."""
        path = os.environ.get("MILABENCH_METRICS")
        return cls(Channel(path) if path else print_payload, int(os.environ.get("RANK", "0")))

    def data(self, task: str, **fields: Any) -> None:
        """Send metrics of ``task``; ``rank`` is that of this process unless it is given."""
        self._send({"task": task, "rank": self.rank} | fields)

    def event(self, name: str, **fields: Any) -> None:
        """Send an event that is not a metric: ``ready``, ``begin``, ``error``."""
        self._send({"$event": name, "$data": fields})

    def rate(
        self, task: str, rate: float, units: str, *, step: int, elapsed: float, **more: Any
    ) -> None:
        """Send the rate of an observation that ended with ``step`` after ``elapsed`` seconds."""
        now = round(time.time(), 6)
        self.data(
            task, rate=rate, units=units, time=now, elapsed=round(elapsed, 6), step=step, **more
        )

    def step_times(
        self,
        rank: int,
        first: int,
        ms: Sequence[float],
        wait_ms: Sequence[float],
        parts: Mapping[str, Sequence[float]] | None = None,
    ) -> None:
        """Send the times of every step of a rank from ``first`` on, in ms.

        They are the time of the whole step, of its wait for data, and of each of its ``parts``.
        """
        if not ms:
            return
        times = {"rank": rank, "from": first, "ms": _rounded(ms), "wait_ms": _rounded(wait_ms)}
        if parts:
            times["parts"] = {name: _rounded(found) for name, found in parts.items()}
        self.data("main", step_times=times)


def _rounded(ms: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in ms]  # to 0.1 us


def print_payload(payload: Mapping[str, Any]) -> None:
    """Print one payload as a line for a person; not an error, which is on stderr already."""
    if payload.get("$event") != "error":
        # One write, newline included: the lines of ranks that share a terminal must not mix.
        sys.stdout.write(f"{text(payload)}\n")
        sys.stdout.flush()


def text(payload: Mapping[str, Any]) -> str:
    """One readable line for a payload: speed first, lists as their median and maximum."""
    if "$event" in payload:
        return f"{payload['$event']:8}{_fields(payload['$data'])}".rstrip()
    fields = dict(payload)
    task, rank = fields.pop("task"), fields.pop("rank", 0)
    if "rate" in fields:
        words = f"{_rate(fields['rate']):>12} {fields['units']}  step {fields['step']}"
        if fields.get("warmup"):
            words += "  (warm-up)"
    elif "step_times" in fields:
        words = _step_times(fields["step_times"])
    else:
        words = f"rank {rank}  {_fields(fields)}"
    return f"{task:8}{words}"


def _rate(rate: float) -> str:
    return f"{rate:.2f}" if rate >= 100 else f"{rate:.4f}"


def _step_times(chunk: Mapping[str, Any]) -> str:
    times, waits = chunk["ms"], chunk["wait_ms"]
    last = chunk["from"] + len(times) - 1
    waiting = 100 * sum(waits) / max(sum(times), 1e-12)
    return (
        f"rank {chunk['rank']}  steps {chunk['from']}-{last}: median {median(times):.3f} ms, "
        f"maximum {max(times):.3f} ms, {waiting:.1f} % of it waiting for data"
    )


def _fields(fields: Mapping[str, Any]) -> str:
    return "  ".join(f"{name} {_value(value)}" for name, value in fields.items())


def _value(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
