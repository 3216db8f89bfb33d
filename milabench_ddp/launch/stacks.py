"""Looks where each process of a launch is, before a launch that hangs is ended.

Our programs write the stacks of their threads at a signal, in C, so also where Python does not run.
A process gets the signal only if it says in two ways that it catches it: by a file of its own, and
to the kernel. Of other ranks py-spy tells the stack, or else why it may not, and of every process
the kernel tells its state. A rank that torchrun ends, because one on another node has
failed, has shown its stacks at SIGTERM.
"""

import math
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ..files import read_bytes
from ..hidden import SECRETS
from ..results.state import RankCall
from . import reap
from .py_spy import Spy
from .stack_frames import Threads, active, caller, of_faulthandler, waits_in

STACKS = "MILABENCH_STACKS"  # the folder that has a file of each process that can be asked
ENDED = "SIGTERM"  # the state of a rank of which is known where it was at that signal
DONE = "done"  # the file there that says that the look is over
SIGNAL = signal.SIGRTMIN + 10  # as in benchmarks/common/stacks.py
PATIENCE = 2.0  # seconds that a look takes at most
PAUSE = 0.5  # seconds of them between the two times that a process is asked
BUSY = 0.05  # of the time between the two, in which a process that is busy computes at least
_POLL = 0.005  # seconds
_LONGEST = 80  # characters of a line of source
_FILES = 256  # files of ranks that are read; a program may write others into the folder
_MOST = 1 << 20  # bytes of one; faulthandler writes up to 100 calls of each of 100 threads
_OF_RANK = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.sigterm")  # its pid, its rank


class Looked(Struct, frozen=True):
    """A process as it was found."""

    pid: int
    is_rank: bool  # or the only process that computes: not a launcher, nor a helper of a rank
    command: str
    threads: Threads  # empty if it does not tell its stacks
    call: RankCall


class Look:
    """A look at the processes that ``find`` returns: asks them for their stacks; see ``look``.

    Args:
        main: the process that was started: a launcher of ranks, or the only rank.
    """

    def __init__(
        self, find: Callable[[], set[int]], main: int, own_rank: int | None, folder: Path
    ) -> None:
        self._find, self._folder, self._pids = find, folder, find()
        self._ranks: Mapping[int, int | None] = _ranks(self._pids) or {main: own_rank}
        self._asked: dict[int, _Answer | Spy] = {}
        for pid in self._pids:
            file = folder / str(pid)
            if _size(file) or (file.exists() and _catches(pid)):
                self._asked[pid] = _Answer(pid, file)
            elif pid in self._ranks:
                self._asked[pid] = Spy(pid)
        self._began = time.monotonic()
        self._computed = {pid: _cpu_seconds(pid) for pid in self._ranks}
        self.ask()

    def ask(self) -> None:
        # The pids are found anew, now that they are pinned: they cannot have become others.
        for pid in self._find() & self._asked.keys():
            self._asked[pid].ask()

    @property
    def can_ask(self) -> bool:
        return any(each.can_answer for each in self._asked.values())

    @property
    def is_complete(self) -> bool:
        return all(each.is_complete for each in self._asked.values())

    def found(self, deadline: float) -> list[Looked]:
        """The processes, ranks first; what py-spy tells by the ``deadline``, in monotonic time."""
        found = []
        lasted = time.monotonic() - self._began
        in_order = sorted(
            (pid not in self._ranks, self._ranks.get(pid) or 0, pid) for pid in self._pids
        )
        for _, _, pid in in_order:
            looks: list[Threads] = []
            untold = ""
            if pid in self._asked:
                looks, untold = self._asked[pid].told(deadline)
            threads = looks[0] if looks else ()
            moves = any(later and later[-1] != threads[-1] for later in looks[1:] if threads)
            words = _read(Path(f"/proc/{pid}/cmdline")).split("\0")
            command = " ".join(SECRETS.hide_words(words)).strip()[:200]
            computed = _cpu_seconds(pid) - self._computed.get(pid, math.inf)
            is_busy = lasted > PAUSE / 2 and computed >= BUSY * lasted
            rank, state = self._ranks.get(pid), status(pid).get("State", "")[:1]
            call = replace(_call(rank, state, threads), moves=moves, is_busy=is_busy, untold=untold)
            found.append(Looked(pid, pid in self._ranks, command, threads, call))
        with suppress(OSError):  # a full disk: then ranks wait for ``PATIENCE``
            (self._folder / DONE).touch()
        return found


def look(looks: Sequence[Look]) -> list[list[Looked]]:
    """What each look finds: twice, to know what moves. Takes at most ``PATIENCE``.

    Where no process can be asked, nothing is waited for.
    """
    deadline = time.monotonic() + PATIENCE
    if any(each.can_ask for each in looks):
        _wait(looks, deadline - PAUSE)
        time.sleep(max(min(PAUSE, deadline - time.monotonic()), 0))
        for each in looks:
            each.ask()
        _wait(looks, deadline)
    return [each.found(deadline) for each in looks]


def ended_ranks(folder: Path) -> list[Looked]:
    found = []
    for file in islice(folder.glob("*.sigterm"), _FILES):
        named = _OF_RANK.fullmatch(file.name)
        if named and (threads := of_faulthandler(_read(file))):
            call = _call(int(named[2]), ENDED, threads)
            found.append(Looked(int(named[1]), True, "", threads, call))
    return sorted(found, key=lambda seen: seen.call.rank or 0)


def _call(rank: int | None, state: str, threads: Threads) -> RankCall:
    stack = active(threads)
    frame = caller(stack)
    call = ""
    if frame is not None:
        source = frame.source
        cut = source if len(source) <= _LONGEST else f"{source[: _LONGEST - 3]}..."
        call = f"`{cut}` ({frame})" if source else str(frame)
    return RankCall(rank, state, call, waits_in(stack))


def _wait(looks: Sequence[Look], deadline: float) -> None:
    while time.monotonic() < deadline and not all(each.is_complete for each in looks):
        time.sleep(_POLL)


class _Answer:
    """What a process writes into its file when it is asked for its stacks, or has written."""

    def __init__(self, pid: int, file: Path) -> None:
        self._pid, self._file = pid, file
        self._sizes: list[int] = []  # of the file, when it was asked
        self._blocking = self._threads_that_block()
        self._fd = -1
        with suppress(OSError):
            self._fd = os.pidfd_open(pid)
        self.can_answer = False

    def ask(self) -> None:
        self._sizes.append(_size(self._file))
        if self._fd >= 0 and _catches(self._pid):
            with suppress(OSError):
                signal.pidfd_send_signal(self._fd, SIGNAL)
                self.can_answer = True

    @property
    def is_complete(self) -> bool:
        """Whether it has written all, or cannot write.

        While the handler runs, its thread blocks the signal, and before that the signal pends.
        """
        found = status(self._pid)
        if not self.can_answer or found.get("State", "Z")[:1] in "TtZX":
            return True
        if _has_signal(found.get("ShdPnd", "0")) or _size(self._file) <= self._sizes[-1]:
            return False
        return self._threads_that_block() <= self._blocking

    def told(self, _deadline: float) -> tuple[list[Threads], str]:
        """Its stacks before it was asked again, and then; no more is asked after that."""
        if self._fd >= 0:
            os.close(self._fd)
        cut = self._sizes[1] if len(self._sizes) > 1 else _MOST
        texts = _read(self._file, 0, cut), _read(self._file, cut)
        return [of_faulthandler(text) for text in texts], ""

    def _threads_that_block(self) -> set[str]:
        try:
            threads = [task.name for task in Path(f"/proc/{self._pid}/task").iterdir()]
        except OSError:
            return set()
        tasks = {tid: status(f"{self._pid}/task/{tid}") for tid in threads}
        return {tid for tid, task in tasks.items() if _has_signal(task.get("SigBlk", "0"))}


def status(pid: int | str) -> dict[str, str]:
    """The fields of ``/proc/PID/status``; no field if it is gone."""
    fields = (line.partition(":") for line in _read(Path(f"/proc/{pid}/status")).splitlines())
    return {name: value.strip() for name, _, value in fields}


def _cpu_seconds(pid: int) -> float:
    import psutil  # takes long, and few launches are looked at

    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def _catches(pid: int) -> bool:
    return _has_signal(status(pid).get("SigCgt", "0"))


def _has_signal(mask: str) -> bool:
    return bool(int(mask, 16) >> (SIGNAL - 1) & 1)


def _read(file: Path, begin: int = 0, end: int = _MOST) -> str:
    with suppress(OSError):
        return read_bytes(file, min(end, _MOST))[begin:].decode(errors="backslashreplace")
    return ""


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _ranks(pids: set[int]) -> dict[int, int | None]:
    told = {pid: rank for pid in pids if (rank := reap.rank(pid)) is not None}
    return {pid: rank for pid, rank in told.items() if reap.parent(pid) not in told}
