"""Starts all processes of a launch at the same moment, behind their keeper.

``keeper_main`` says what a keeper is, and what it is told and tells.
"""

import marshal
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct

from ..plan.launch import Process
from . import reap
from .keeper_main import EXECUTED, KILL, TERMINATE, WAITS, Program

_ROOT = Path(__file__).parents[2]
# An imported module is compiled once; a script would be compiled at each start.
_MAIN = f"""
import sys
sys.path.append({str(_ROOT)!r})
from {__package__}.keeper_main import main
main(sys.argv)
"""
_NOTICE_NS = 20_000_000  # enough for every process to read the moment before it comes
_MESSAGE = 1 << 16  # bytes of a message, at most
Ends = tuple[int, int, int]  # control, stdout, stderr of a process
_PATIENCE = 120.0  # seconds for a process to come to the start latch
_LEAVE = 2 * reap.LIMIT  # seconds for the keeper to end what is left


class ProcessEnd(Struct, frozen=True):
    """How a process ended.

    ``error`` is empty, or says that its keeper did not report its end; ``stuck`` are the pids that
    SIGKILL did not end.
    """

    # negative for a signal, as in ``subprocess``; None if nobody saw it end
    returncode: int | None
    stuck: frozenset[int]
    error: str = ""


class KeptProcess(Struct, frozen=True):
    """A process that executed its program, or failed to."""

    process: Process  # with its whole environment
    pid: int  # 0 if it did not reach the start latch, and so is its keeper's
    keeper: int
    pidfd: int  # readable once the program has ended; negative if it cannot be watched
    control: int  # a descriptor, readable once the process and all its descendants have ended
    stdout: int
    stderr: int
    started: float  # when it executed its program: monotonic, in seconds
    error: str  # why it failed to; empty if it did not

    def terminate(self) -> None:
        """Send SIGTERM to its process group: torchrun passes it on to its workers."""
        self._order(TERMINATE)

    def kill(self) -> None:
        self._order(KILL)

    def wake_keeper(self) -> None:
        """Continue its keeper, which has something to do, if somebody has stopped it."""
        if self.keeper:
            reap.ignore_gone(os.kill, self.keeper, signal.SIGCONT)

    def family(self) -> set[int]:
        return reap.family(self.keeper) if self.keeper else set()

    def _order(self, order: bytes) -> None:
        with suppress(OSError):  # its keeper is gone
            os.write(self.control, order)
        self.wake_keeper()


class Keeper:
    """The keeper of a launch, from its start until nothing of the launch is left.

    Args:
        processes: what to start; the ``env`` of each is its whole environment.
        folder: a folder that it removes at the end, even if this process is killed.
    """

    def __init__(self, processes: Sequence[Process], folder: Path) -> None:
        self._processes = processes
        self._own: list[Ends] = []
        self._born: dict[int, int] = {}  # of each program and of each keeper of one
        with ExitStack() as ours, ExitStack() as theirs:
            read, life = os.pipe()
            theirs.callback(os.close, read)
            ours.callback(os.close, life)
            waits, self._release = os.pipe()
            theirs.callback(os.close, waits)
            self._latch = ours.enter_context(ExitStack())
            self._latch.callback(os.close, self._release)
            given = [read, waits]
            for _ in processes:
                kept, sent = _ends()
                for fd in kept:
                    ours.callback(os.close, fd)
                for fd in sent:
                    theirs.callback(os.close, fd)
                self._own.append(kept)
                given += sent
            described = theirs.enter_context(open(os.memfd_create("programs"), "wb"))
            marshal.dump([*map(_program, processes)], described)
            described.flush()
            words = [sys.executable, "-I", "-S", "-c", _MAIN, str(folder), *map(str, given)]
            self._popen = subprocess.Popen(
                words,
                stdin=described,
                stdout=subprocess.DEVNULL,
                pass_fds=given,
                start_new_session=True,
            )
            self._fds = ours.pop_all()

    def release(self) -> list[KeptProcess]:
        """Start the programs, as soon as all wait at the latch.

        Raises:
            TimeoutError: one does not reach the latch; it may be stopped.
        """
        arrived = [_receive(control) for control, _, _ in self._own]
        waiting = [message for message in arrived if message.startswith(WAITS)]
        moment = time.monotonic_ns()
        if len(waiting) > 1:
            moment += _NOTICE_NS
        os.write(self._release, b"%020d" % moment * len(waiting))
        self._latch.close()
        return list(map(self._kept, self._processes, self._own, arrived))

    def _kept(self, process: Process, ends: Ends, message: bytes) -> KeptProcess:
        keeper, pid, pidfd = 0, 0, -1
        if message.startswith(WAITS):
            keeper, pid = map(int, message.removeprefix(WAITS).split())
            with suppress(OSError):
                pidfd = os.pidfd_open(pid)
                self._fds.callback(os.close, pidfd)
            for each in (keeper, pid):
                stat = reap.read_stat(each)
                self._born[each] = stat.born if stat else 0
            message = _receive(ends[0])
        started, error = _read_report(process.argv[0], message)
        return KeptProcess(process, pid, keeper, pidfd, *ends, started, error)

    def end(self, kept: KeptProcess) -> ProcessEnd:
        """How a process has ended; if its keeper does not report that, it is killed here."""
        try:
            message = _receive(kept.control, patience=0.0)
            how = "was killed"
        except TimeoutError:
            message, how = b"", "does not answer"
        if message:
            code, *left = message.split(b" ")
            return ProcessEnd(int(code) if code else None, frozenset(map(int, left)))
        if not kept.pid:
            return ProcessEnd(None, frozenset())
        stuck: set[int] = set()
        for pid in (kept.keeper, kept.pid):
            stuck |= reap.kill_tree(pid, self._born[pid])
        # Its orphans are below the keeper of the launch.
        others = self._born.keys() - {kept.keeper}
        stuck |= reap.kill_family(self._popen.pid, spared=others)
        return ProcessEnd(None, frozenset(stuck), f"its keeper {how}")

    def close(self) -> None:
        self._fds.close()
        self._popen.send_signal(signal.SIGCONT)
        try:
            self._popen.wait(_LEAVE)
        except subprocess.TimeoutExpired:  # it is stopped, or held in the kernel
            self._popen.kill()
            with suppress(subprocess.TimeoutExpired):
                self._popen.wait(reap.LIMIT)


def _ends() -> tuple[Ends, Ends]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stdout, stderr = os.pipe(), os.pipe()
    kept, sent = zip(stdout, stderr, strict=True)
    return (ours.detach(), *kept), (theirs.detach(), *sent)


def _program(process: Process) -> Program:
    words = [os.fsencode(word) for word in process.argv]
    return words, {os.fsencode(name): os.fsencode(value) for name, value in process.env.items()}


def _receive(control: int, patience: float = _PATIENCE) -> bytes:
    """The next message of a keeper; empty if it is gone.

    Raises:
        TimeoutError: there is none in time.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    if not poll.poll(patience * 1e3):
        raise TimeoutError(f"a process did not start within {patience:g} s")
    with suppress(ConnectionResetError):
        return os.read(control, _MESSAGE)
    return b""


def _read_report(program: str, report: bytes) -> tuple[float, str]:
    stamp, _, code = report.removeprefix(EXECUTED).partition(b"!")
    started = int(stamp) / 1e9 if stamp else time.monotonic()
    if code:
        return started, f"cannot execute {program}: {os.strerror(int(code))}"
    return started, "" if stamp else f"{program} ended before it was started"
