"""One process under supervision: its pipes, its metrics channel, and how it ended."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

from ..events import Ended, Event, Line, Note, Outcome, Started
from ..plan.command import Process
from ..results.runfile import ProcessState
from . import reap
from .fifo import Fifo
from .lines import LineBuffer
from .spawn import Spawned
from .verdict import Witness, judge
from .wire import parse

_CHUNK = 1 << 16


class Child:
    """A process of a launch, from its start until it and all its descendants are gone."""

    def __init__(self, process: Process, spawned: Spawned, metrics: Fifo, mark: str) -> None:
        popen = spawned.popen
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.process, self.tag, self.pid = process, process.name, popen.pid
        self.seen = Witness()
        self.began = spawned.began
        self.started = time.time() - (time.monotonic() - spawned.began)
        self.exited = os.pidfd_open(popen.pid)
        self._popen, self._metrics, self._mark, self._error = popen, metrics, mark, spawned.error
        self._out, self._err = popen.stdout.fileno(), popen.stderr.fileno()
        self._buffers = {fd: LineBuffer() for fd in (self._out, self._err, metrics.fd)}
        for fd in self._buffers:
            os.set_blocking(fd, False)

    @property
    def pipes(self) -> tuple[int, ...]:
        """The descriptors to read from."""
        return tuple(self._buffers)

    def greet(self) -> Started:
        """The event of its start."""
        return Started(self.tag, self.started, self.pid, self.process.argv)

    def read(self, fd: int) -> tuple[list[Event], bool]:
        """The events of what a pipe holds now, and whether more may come."""
        try:
            chunk = os.read(fd, _CHUNK)
        except BlockingIOError:
            return [], True
        buffer = self._buffers[fd]
        lines = buffer.feed(chunk) if chunk else buffer.flush()
        return [self._event(fd, line) for line in lines], bool(chunk)

    def _event(self, fd: int, line: bytes) -> Event:
        now = time.time()
        if fd != self._metrics.fd:
            text = line.decode("utf-8", "backslashreplace")
            return Line(self.tag, now, "stdout" if fd == self._out else "stderr", text)
        event = parse(self.tag, now, line)
        self.seen.see(event)
        return event

    def terminate(self) -> None:
        """Ask its process group to end: torchrun passes this on to its workers."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """End it and all that bears its mark."""
        reap.kill(self._bearers, keep=(self.pid,))

    def finish(self, cause: Outcome | None, why: str) -> Iterator[Event]:
        """After its exit: end what it left behind, read what is left, and say how it went."""
        code = self._popen.wait()
        stuck = reap.kill(self._bearers)
        for fd in self.pipes:
            yield from self._drain(fd)
        if self._error:
            outcome, reason = Outcome.FAILED, self._error
        else:
            # Over several nodes rank 0 reports for all, and only their leader sees them all.
            reports = self.process.job is None
            outcome, reason = judge(self.seen, code, cause, why, reports)
        if stuck:
            yield Note(self.tag, time.time(), "message", f"did not die of SIGKILL: {sorted(stuck)}")
        self.end = ProcessState(
            self.tag, self.pid, code, outcome, reason, self.started, time.time(), self.seen.rates
        )
        yield Ended(self.tag, self.end.ended, code, outcome, reason)

    def _drain(self, fd: int) -> Iterator[Event]:
        while True:
            try:
                chunk = os.read(fd, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                break
            for line in self._buffers[fd].feed(chunk):
                yield self._event(fd, line)
        for line in self._buffers[fd].flush():
            yield self._event(fd, line)

    def close(self) -> None:
        """Give back its descriptors."""
        os.close(self.exited)
        with self._popen:  # closes its pipes
            pass

    def _bearers(self) -> set[int]:
        return reap.bearers(self._mark)
