"""Find and end every process that a launch has started, in any session and under any parent.

torchrun starts each worker in a session of its own: a signal to torchrun's process group does not
reach the workers, and a SIGKILL of torchrun orphans them. There are two other ways to find them.
Each process of a launch has a mark in its environment, which its children inherit. And the
supervisor is a child subreaper, so an orphan becomes its child and is found by its ancestry. Other
processes are never signalled.
"""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

MARK = "MILABENCH_LAUNCH"
_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.002  # seconds between two checks of processes that were killed


def adopt_orphans() -> None:
    """Make this process the parent of any descendant whose own parent has ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> set[int]:
    """Pids of all descendants of ``root``, zombies included."""
    children: dict[int, list[int]] = {}
    for pid in _all_pids():
        if fields := _stat(pid):
            children.setdefault(int(fields[1]), []).append(pid)
    found: set[int] = set()
    todo = [root]
    while todo:
        for pid in children.pop(todo.pop(), ()):
            found.add(pid)
            todo.append(pid)
    return found


def has_mark(pid: int, mark: str) -> bool:
    """Whether a live process carries the mark, or one that begins with ``mark`` and a dot."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # it is gone, or belongs to another user
    exact = f"{MARK}={mark}".encode()
    return any(e == exact or e.startswith(exact + b".") for e in environ.split(b"\0"))


def marked_processes(mark: str) -> set[int]:
    """Pids of the live processes that carry the mark, without this process."""
    return {pid for pid in _all_pids() if pid != os.getpid() and has_mark(pid, mark)}


def rank(pid: int) -> int | None:
    """The variable ``RANK`` of a live process; None if it has none."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    for variable in environ.split(b"\0"):
        name, _, value = variable.partition(b"=")
        if name == b"RANK" and value.isdigit():
            return int(value)
    return None


def parent(pid: int) -> int | None:
    """The parent of a process; None if it is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def kill_all(
    find: Callable[[], set[int]], keep: Collection[int] = (), timeout: float = 5.0
) -> set[int]:
    """SIGKILL the processes that ``find`` returns, repeatedly: they may fork meanwhile.

    Args:
        find: returns the pids to end; called until all of them are zombies.
        keep: children of this process whose exit status the caller reads.
        timeout: seconds after which to give up.

    Returns:
        the pids that are still alive (in the kernel, uninterruptible).
    """
    deadline = time.monotonic() + timeout
    while left := {pid for pid in find() if not _is_zombie(pid)}:
        _kill_once(left, find)
        reap_children(left.difference(keep))
        if time.monotonic() > deadline:
            return left
        time.sleep(_POLL)
    return set()


def _kill_once(pids: set[int], find: Callable[[], set[int]]) -> None:
    with ExitStack() as stack:
        pinned: dict[int, int] = {}
        for pid in pids:
            with suppress(ProcessLookupError):
                pinned[pid] = os.pidfd_open(pid)
                stack.callback(os.close, pinned[pid])
        # Ask again, now that they are pinned: their pids cannot be reused for other processes.
        for pid in find() & pinned.keys():
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(pinned[pid], signal.SIGKILL)


def reap_children(pids: set[int]) -> None:
    """Read the exit status of those pids that are children of this process: no zombie stays."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _all_pids() -> Iterator[int]:
    for folder in Path("/proc").glob("[0-9]*"):
        yield int(folder.name)


def _is_zombie(pid: int) -> bool:
    fields = _stat(pid)
    return not fields or fields[0] in (b"Z", b"X")


def _stat(pid: int) -> list[bytes]:
    """The fields of a process from its state on: state, parent, ...; empty if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    # The command's name stands in parentheses and may itself hold any character.
    return text[text.rindex(b")") + 2 :].split()
