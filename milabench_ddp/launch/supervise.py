"""A launch, from its start until nothing of it is left: processes -> one stream of events.

One thread, one selector, no polling: it sleeps until a pipe has something, a process has ended,
somebody asks to stop, or a rung of the ladder is due. While programs are measured it costs nothing.
"""

import os
import selectors
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..events import Event, Outcome
from ..plan.command import Launch
from ..results.runfile import ProcessState
from . import reap
from .child import Child
from .fifo import METRICS, START, Fifo
from .inbox import Inbox
from .ladder import Ladder, Rung
from .spawn import Order, spawn
from .verdict import worst

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True)
class LaunchEnd:
    """How a launch ended; skews in milliseconds, None where fewer than two processes began."""

    outcome: Outcome
    reason: str
    start_skew_ms: float | None
    begin_skew_ms: float | None
    processes: tuple[ProcessState, ...]


class Supervisor:
    """Runs launches, one at a time, in the main thread.

    Args:
        environ: the environment to which each process's own is added.
        emit: gets each event as it happens; what it raises ends the launch and is passed on.
        tick: called at least once a second.
        inbox: where requests to stop, and other threads' events, arrive.
        grace: seconds between SIGTERM and SIGKILL.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        emit: Callable[[Event], None],
        tick: Callable[[], None],
        inbox: Inbox,
        grace: float = GRACE,
    ) -> None:
        self._environ, self._emit, self._tick = environ, emit, tick
        self._inbox, self._grace = inbox, grace

    def run(self, launch: Launch) -> LaunchEnd:
        """Start it, see it through, and leave no process of it behind."""
        reap.adopt_orphans()
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="milabench-")))
            started = _Run(self._environ, launch, folder, stack, self._grace)
            return started.see_through(self._emit, self._tick, self._inbox)


class _Run:
    """One launch under way; ``stack`` undoes, in reverse, whatever it has set up."""

    def __init__(
        self,
        environ: Mapping[str, str],
        launch: Launch,
        folder: Path,
        stack: ExitStack,
        grace: float,
    ) -> None:
        self._mark = uuid.uuid4().hex
        self._others = reap.descendants(os.getpid())
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._barrier = Fifo(folder / "start") if launch.barrier else None
        stack.callback(self._open_barrier)
        fifos = [Fifo(folder / f"metrics.{i}") for i in range(len(launch.processes))]
        for fifo in fifos:
            stack.callback(fifo.close)
        marks = [f"{self._mark}.{i}" for i in range(len(fifos))]
        orders = []
        for process, fifo, mark in zip(launch.processes, fifos, marks, strict=True):
            added = {METRICS: str(fifo.path), reap.MARK: mark}
            if self._barrier:
                added[START] = str(self._barrier.path)
            orders.append(Order(process.argv, {**environ, **process.env, **added}))
        self._ladder = Ladder(time.monotonic(), launch.benchmark.max_duration, grace)
        parts = zip(launch.processes, spawn(orders), fifos, marks, strict=True)
        self._children = [Child(*part) for part in parts]
        self._alive = list(self._children)
        for child in self._children:
            stack.callback(child.close)
            for fd in (child.exited, *child.pipes):
                self._selector.register(fd, selectors.EVENT_READ, child)
        stack.callback(self._end_all)  # the first to be called, whatever happened

    def _end_all(self) -> None:
        leaders = [child.pid for child in self._children]
        reap.kill(self._ours, keep=leaders)
        reap.bury(self._ours().difference(leaders))

    def _ours(self) -> set[int]:
        return reap.bearers(self._mark) | (reap.descendants(os.getpid()) - self._others)

    def see_through(
        self, emit: Callable[[Event], None], tick: Callable[[], None], inbox: Inbox
    ) -> LaunchEnd:
        self._selector.register(inbox.fd, selectors.EVENT_READ, inbox)
        for child in self._children:
            emit(child.greet())
        asked, next_tick = 0, time.monotonic() + 1.0
        while self._alive:
            now = time.monotonic()
            rung_due = self._ladder.wait(now)
            wait = next_tick - now if rung_due is None else min(next_tick - now, rung_due)
            ready = self._selector.select(max(0.0, wait))
            if inbox.stops > asked:  # first: what ends now may have had the same signal
                asked = inbox.stops
                self._ladder.stop(time.monotonic(), Outcome.CANCELLED, inbox.reason)
                if asked > 1:
                    self._ladder.kill(time.monotonic())
            for key, _ in ready:
                events = inbox.take() if key.data is inbox else self._handle(key)
                for event in events:
                    emit(event)
            now = time.monotonic()
            if now >= next_tick:
                tick()
                next_tick = now + 1.0
            self._pass_barrier()
            if self._alive and all(child.seen.stopped for child in self._alive):
                self._ladder.stop(now, Outcome.OK, "it had enough observations")
            self._climb(now)
        self._selector.unregister(inbox.fd)
        return self._end()

    def _handle(self, key: selectors.SelectorKey) -> Iterable[Event]:
        child: Child = key.data
        if child not in self._alive:
            return []  # it ended earlier in this very round
        if key.fd != child.exited:
            events, more = child.read(key.fd)
            if not more:
                self._selector.unregister(key.fd)
            return events
        self._alive.remove(child)
        for fd in (child.exited, *child.pipes):
            if fd in self._selector.get_map():
                self._selector.unregister(fd)
        return child.finish(self._ladder.cause, self._ladder.reason)

    def _climb(self, now: float) -> None:
        rung = self._ladder.climb(now)
        for child in self._alive if rung else ():
            child.terminate() if rung is Rung.TERMINATED else child.kill()

    def _pass_barrier(self) -> None:
        if all(child.seen.ready for child in self._alive):
            self._open_barrier()

    def _open_barrier(self) -> None:
        if self._barrier:
            self._barrier.close()
            self._barrier = None

    def _end(self) -> LaunchEnd:
        ends = tuple(child.end for child in self._children)
        outcome, reason = worst([(end.outcome, end.reason) for end in ends])
        begun = [c.seen.began for c in self._children if c.seen.began is not None]
        starts = [child.began for child in self._children]
        return LaunchEnd(outcome, reason, _skew_ms(starts), _skew_ms(begun), ends)


def _skew_ms(times: list[float]) -> float | None:
    return (max(times) - min(times)) * 1e3 if len(times) > 1 else None
