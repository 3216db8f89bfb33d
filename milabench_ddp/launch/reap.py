"""Find and end every descendant of a process, in any session and with any environment.

Descendants are found by their ancestry alone. The callers adopt the orphans below them (child
subreapers), so no process leaves its family: neither a worker of torchrun in a session of its own,
nor a daemon that cleared its environment. No other process is signalled: a
pid is pinned by a pidfd before its parent is read, so that it cannot come to mean another process.

The keeper imports this, and must start fast: only what Python has loaded anyway is imported.
"""

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from itertools import count

LIMIT = 5.0
"""Seconds after SIGKILL after which a process counts as stuck in the kernel."""

_POLL = 0.002  # seconds between two rounds of signals
_ROUNDS = 50  # of SIGSTOP, at most
_SURE = 3  # rounds of SIGKILL after which some descendants are surely missed
_TRIES = 200  # to signal the newest process
_GENERATIONS = 3  # that may live at once in a chain of forks


class Stat:
    """What ``/proc/PID/stat`` tells of a process."""

    def __init__(self, fields: list[bytes]) -> None:
        self.parent, self.group = int(fields[1]), int(fields[2])
        self.born = int(fields[19])  # in ticks since boot: with the pid, it is this process alone
        # The first thread may end before the others: the process lives on as a zombie with threads.
        self.is_gone = fields[0] in (b"Z", b"X") and int(fields[17]) <= 1


def read_stat(pid: int) -> Stat | None:
    """The state of a process, of a zombie too; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            text = file.read()
    except OSError:
        return None
    # The command's name stands in parentheses and may itself hold any character.
    return Stat(text[text.rindex(b")") + 2 :].split())


def is_alive(pid: int, born: int) -> bool:
    """Whether the process lives that was born then, in ticks since boot."""
    stat = read_stat(pid)
    return stat is not None and stat.born == born and not stat.is_gone


def family(root: int, spared: Collection[int] = ()) -> set[int]:
    """Pids of the live descendants of a process, without those spared and their descendants."""
    children: dict[int, list[tuple[int, bool]]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes longer to load
        if name.isdigit() and (stat := read_stat(int(name))):
            children.setdefault(stat.parent, []).append((int(name), stat.is_gone))
    found, todo = set(), [root]
    while todo:
        for pid, is_gone in children.pop(todo.pop(), ()):
            if pid not in spared:
                todo.append(pid)
                if not is_gone:
                    found.add(pid)
    return found


def rank(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environ = file.read()
    except OSError:
        return None
    for variable in environ.split(b"\0"):
        name, _, value = variable.partition(b"=")
        if name == b"RANK" and value.isdigit():
            return int(value)
    return None


def parent(pid: int) -> int | None:
    stat = read_stat(pid)
    return stat.parent if stat else None


def kill_family(
    root: int,
    has_children: Callable[[], bool] | None = None,
    spared: Collection[int] = (),
    limit: float = LIMIT,
) -> set[int]:
    """End all descendants of a process, until none is left.

    All of them are stopped first: a stopped process neither forks nor restarts another.

    Args:
        root: the process; it gets no signal itself.
        has_children: reads the exit status of the children that have ended, and tells whether any
            is left. Only for children of this process, and then certain: reading one process after
            another may miss one that forks and ends.
        spared: descendants that live on, with their own descendants.
        limit: seconds after which to give up.

    Returns:
        the pids that are still alive: in the kernel, or of another user.
    """
    deadline = time.monotonic() + limit
    hunt = _Hunt(root, spared)
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        found = hunt.signal_all(signal.SIGSTOP, stopped)
        if found <= stopped or time.monotonic() > deadline:
            break
        stopped |= found
    for number in count():
        living = hunt.signal_all(signal.SIGKILL)
        is_any_left = bool(living) if has_children is None else has_children()
        if not is_any_left:
            return set()
        if time.monotonic() > deadline:
            return living
        if number > _SURE:
            hunt.chase()
        time.sleep(_POLL)
    raise AssertionError


def kill_tree(pid: int, born: int) -> set[int]:
    """End a process that was born then, and its descendants; returns what is still alive."""
    if not is_alive(pid, born):
        return set()
    stuck = kill_family(pid)
    _signal(pid, lambda found: found.born == born, signal.SIGKILL)
    deadline = time.monotonic() + LIMIT
    while is_alive(pid, born):
        if time.monotonic() > deadline:
            return stuck | {pid}
        time.sleep(_POLL)
    return stuck


class _Hunt:
    """Signals to the descendants of a process, but to those spared and theirs."""

    def __init__(self, root: int, spared: Collection[int]) -> None:
        self._root, self._spared = root, spared
        own = read_stat(root)
        self._own_group = own.group if own else 0

    def signal_all(self, number: int, done: Collection[int] = ()) -> set[int]:
        found = family(self._root, self._spared)
        parents, groups = {self._root, *found}, {self._own_group}
        for pid in found.difference(done):
            self._signal(pid, parents, groups, number)
        return found

    def chase(self) -> None:
        """Kill descendants that fork and end before they are found among all other processes.

        Each lives for some 0.1 ms. The kernel tells which pid is the newest.
        """
        with open("/proc/loadavg", "rb", buffering=0) as file:
            for _ in range(_TRIES):
                newest = int(os.pread(file.fileno(), 100, 0).split()[-1])
                for pid in (newest, newest + 1):
                    self._signal(pid, {self._root}, {self._own_group}, signal.SIGKILL)

    def _signal(self, pid: int, parents: set[int], groups: set[int], number: int) -> None:
        """Send a signal to a process and its group, if one of the parents is an ancestor of it.

        ``groups`` are those that get none, or have got it; the process's own is added.
        """

        def is_member(stat: Stat) -> bool:
            ancestor: Stat | None = stat
            for _ in range(_GENERATIONS):
                if ancestor is None or ancestor.parent in self._spared:
                    return False
                if ancestor.parent in parents:
                    return not stat.is_gone
                ancestor = read_stat(ancestor.parent)
            return False

        stat = None if pid in self._spared else _signal(pid, is_member, number)
        if stat is not None and stat.group not in groups:
            # The whole group, in one call of the kernel: none of it can fork meanwhile. A group is
            # within a session, and each session below the root was begun by a descendant.
            ignore_gone(os.killpg, stat.group, number)
            groups.add(stat.group)


def _signal(pid: int, is_meant: Callable[[Stat], bool], number: int) -> Stat | None:
    """Send a signal to a process, if it is meant; returns its state if so."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None  # it is gone, or is a thread
    try:
        stat = read_stat(pid)
        if stat is None or not is_meant(stat):
            return None
        ignore_gone(signal.pidfd_send_signal, fd, number)
        return stat
    finally:
        os.close(fd)


def ignore_gone(send: Callable[[int, int], None], target: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        send(target, number)
