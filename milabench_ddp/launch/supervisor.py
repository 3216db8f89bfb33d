"""Supervises a launch until none of its processes is left, and emits one stream of events.

One thread, one selector, no polling: it sleeps until a pipe has data, a process has ended, a
request to stop or an event of another thread arrives, or the next stage of the kill policy is due.
While it sleeps, it takes no CPU time from the programs that are measured.
"""

import fcntl
import os
import queue
import selectors
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ..events import Clock, Emit, Event, Outcome, Verdict, gravest
from ..machine.host import oom_kills
from ..plan.launch import Launch
from ..results.state import LaunchState, ProcessState
from .channel import METRICS, START, Fifo
from .child import Child
from .hangs import is_hang
from .keeper import Keeper
from .kill_policy import KillPolicy, Stage
from .stacks import STACKS, look
from .stop_requests import StopRequests

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""

SETTLE = 0.2
"""Seconds in which ranks that waited for the same one all fail; none ends until it is looked at."""


_BARRIER = "start"  # the name of its pipe
_FOLDER = f"milabench-{os.uname().nodename}-"  # its pipes and stacks; several hosts may share /tmp
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AGE = 60.0  # seconds after which a folder has its lock, if it ever gets it
_PATIENCE = 30.0  # seconds for folders to be removed


class Supervisor:
    """Runs one launch, in the main thread.

    Args:
        emit: gets each event as it happens; an exception that it raises ends the launch and `run`.
        clock: monotonic, in seconds; the deadline and the grace are counted by it.
        has_room: whether more can be emitted now; while not, programs wait as at a full pipe. It
            must wake ``requests`` once there is room. Its exceptions end the launch and `run`.
        witness: called when processes hang or one has failed, with which, before any is stopped.
    """

    def __init__(
        self,
        launch: Launch,
        environ: Mapping[str, str],
        requests: StopRequests,
        emit: Emit,
        grace: float = GRACE,
        clock: Clock = time.monotonic,
        has_room: Callable[[], bool] = lambda: True,
        witness: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._launch, self._environ, self._clock = launch, environ, clock
        self._requests, self._emit, self._grace = requests, emit, grace
        self._has_room, self._witness = has_room, witness
        self._pipes: dict[int, Callable[[], None]] = {}  # those still open, and their handlers
        self._reads_pipes = True
        self._posted: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._barrier = ExitStack()  # closing it lets all processes begin to measure
        self._children: list[Child] = []
        self._ends: dict[str, ProcessState] = {}  # by tag

    def post(self, event: Event) -> None:
        """Hand over an event of another thread, to be emitted in order."""
        self._posted.put(event)
        self._requests.wake()

    def take_posted(self) -> Iterator[Event]:
        """The events of ``post`` that are not emitted yet; after ``run``, the caller takes them."""
        while not self._posted.empty():
            yield self._posted.get()

    def run(self) -> LaunchState:
        with ExitStack() as stack:
            self._start(stack)
            self._supervise()
        return self._state()

    def _start(self, stack: ExitStack) -> None:
        """Start all processes; ``stack`` undoes each step, in reverse order."""
        self._oom_kills = oom_kills()
        # The keeper removes it, also if this process is killed, so the keeper is there first.
        folder = Path(tempfile.gettempdir(), f"{_FOLDER}{uuid.uuid4().hex}")
        programs = []
        for number, process in enumerate(self._launch.processes):
            env = {**self._environ, **process.env}
            if self._launch.barrier:
                env[START] = str(folder / _BARRIER)
            env[METRICS] = str(folder / f"metrics.{number}")
            env[STACKS] = str(folder / f"stacks.{number}")
            programs.append(replace(process, env=env))
        max_duration = self._launch.benchmark.max_duration
        self._policy = KillPolicy(self._clock(), max_duration, self._grace)
        keeper = Keeper(programs, folder)
        stack.callback(keeper.close)
        folder.mkdir(mode=0o700)
        lock = os.open(folder, _OPEN)
        stack.callback(os.close, lock)
        with suppress(OSError):  # a file system without locks: it is never swept
            fcntl.flock(lock, fcntl.LOCK_EX)
        if self._launch.barrier:
            self._barrier.callback(Fifo(folder / _BARRIER).close)
        stack.enter_context(self._barrier)
        fifos = []
        for program in programs:
            fifo = Fifo(Path(program.env[METRICS]))
            stack.callback(fifo.close)
            fifos.append(fifo)
            Path(program.env[STACKS]).mkdir()
        planned = self._launch.processes  # without the caller's environment
        limit = self._launch.benchmark.max_output
        for process, kept, fifo in zip(planned, keeper.release(), fifos, strict=True):
            child = Child(kept, keeper, fifo, self._emit, process.own_rank, limit)
            stack.callback(child.close)
            self._children.append(child)

    def _supervise(self) -> None:
        with selectors.DefaultSelector() as self._selector:
            self._watch(self._requests.fd, self._emit_posted)
            for child in self._children:
                self._watch(child.exit_fd, partial(self._finish, child))
                if child.pidfd >= 0:
                    self._watch(child.pidfd, partial(self._wake_keeper, child))
                for fd in child.pipes:
                    self._pipes[fd] = partial(self._read, child, fd)
                    self._watch(fd, self._pipes[fd])
                if child.channel_ranks is not None and child.channel_ranks.fd >= 0:
                    self._watch(child.channel_ranks.fd, child.channel_ranks.look)
                child.emit_start()
            self._alive = list(self._children)
            while self._alive:
                ready = self._selector.select(self._policy.seconds_left(self._clock()))
                # Requests come first: a process that ends now may have got the same signal.
                if self._requests.stops:
                    self._policy.stop(self._clock(), self._requests.verdict)
                if self._requests.stops > 1:
                    self._policy.kill(self._clock())
                self._heed_room()
                for key, _ in ready:
                    key.data()
                missing = [child for child in self._alive if child.observed.misses_peer]
                self._look(missing, SETTLE)
                if all(child.observed.is_ready for child in self._alive):
                    self._barrier.close()
                self._apply_policy(self._clock())

    def _watch(self, fd: int, handle: Callable[[], None]) -> None:
        self._selector.register(fd, selectors.EVENT_READ, handle)

    def _heed_room(self) -> None:
        has_room = self._has_room()
        if has_room is self._reads_pipes:
            return
        self._reads_pipes = has_room
        for fd, read in self._pipes.items():
            if has_room:
                self._watch(fd, read)
            else:
                self._selector.unregister(fd)

    def _emit_posted(self) -> None:
        self._requests.clear()
        for event in self.take_posted():
            self._emit(event)

    def _read(self, child: Child, fd: int) -> None:
        # A pipe that ended earlier in this round was read to its end.
        if fd in self._pipes and self._reads_pipes and not child.read(fd):
            self._forget(fd)

    def _wake_keeper(self, child: Child) -> None:
        self._forget(child.pidfd)
        child.wake_keeper()

    def _finish(self, child: Child) -> None:
        self._alive.remove(child)
        watch = (child.channel_ranks.fd,) if child.channel_ranks is not None else ()
        for fd in (child.exit_fd, child.pidfd, *child.pipes, *watch):
            self._forget(fd)
        end = child.finish(self._policy.verdict, oom_kills() - self._oom_kills)
        self._ends[child.tag] = end
        if end.outcome is Outcome.FAILED:
            self._witness("has failed")

    def _forget(self, fd: int) -> None:
        self._pipes.pop(fd, None)
        with suppress(KeyError, ValueError):  # a pipe that had ended, a watch that is not there
            self._selector.unregister(fd)

    def _apply_policy(self, now: float) -> None:
        # All end together: ending one alone would unload its device while others are measured.
        if self._alive and all(child.observed.has_enough for child in self._alive):
            self._policy.stop(now, Verdict(Outcome.OK, "it had enough observations"))
        match self._policy.advance(now), self._policy.verdict:
            case Stage.TERMINATED, Verdict() as verdict:
                if is_hang(verdict):
                    self._look(self._alive)
                    self._witness("hangs or waits, and still runs")
                for child in self._alive:
                    child.terminate()
                self._policy.begin_grace(self._clock())
            case Stage.KILLED, _:
                for child in self._alive:
                    child.kill()
            case Stage.GIVEN_UP, _:
                for child in list(self._alive):
                    self._finish(child)

    def _look(self, children: Sequence[Child], settle: float = 0.0) -> None:
        new = [child for child in children if not child.looked]
        if new:
            time.sleep(settle)
            for child, found in zip(new, look([child.begin_look() for child in new]), strict=True):
                child.looked = found

    def _state(self) -> LaunchState:
        ends = tuple(self._ends[child.tag] for child in self._children)
        verdict = gravest(end.verdict for end in ends)
        return LaunchState(
            repeat=self._launch.repeat,
            outcome=verdict.outcome,
            reason=verdict.reason,
            processes=ends,
        )


def sweep() -> None:
    """Remove what this user's launches on this host have left in /tmp, as after a power-off.

    A launch holds the lock of its folder, which the kernel gives back with its supervisor.
    """
    left = []
    with ExitStack() as stack:
        for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
            with suppress(OSError):  # a launch goes on in it, or it is a link, or another user's
                fd = os.open(folder, _OPEN)
                stack.callback(os.close, fd)
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = os.fstat(fd)
                if found.st_uid == os.getuid() and time.time() - found.st_mtime > _AGE:
                    left.append(folder)
        if left:
            with suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(["rm", "-rf", "--", *left], timeout=_PATIENCE, capture_output=True)
