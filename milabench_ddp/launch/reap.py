"""Find and end what a launch has started, wherever it went.

torchrun starts each worker in a session of its own: no signal to torchrun's process group reaches
them, and a SIGKILL of torchrun orphans them. Two things hold: the environment that all of them
inherit, so each process of a launch is marked there, and their ancestry, because the supervisor
is a child subreaper, so that an orphan becomes its child. Nothing else is ever signalled.
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


def adopt_orphans() -> None:
    """Make this process the parent of any descendant whose own parent has ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(root: int) -> set[int]:
    """Pids of all descendants of ``root``, zombies included."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    todo = [root]
    while todo:
        new = [pid for pid in children.get(todo.pop(), ()) if pid not in found]
        found.update(new)
        todo += new
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_bytes()
        except OSError:
            continue  # gone meanwhile
        # The command's name stands in parentheses and may itself hold any character.
        yield int(stat.parent.name), int(text[text.rindex(b")") + 2 :].split()[1])


def bears(pid: int, mark: str) -> bool:
    """Whether a live process carries the mark, or one that begins with ``mark`` and a dot."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # gone meanwhile, or somebody else's
    exact = f"{MARK}={mark}".encode()
    return any(e == exact or e.startswith(exact + b".") for e in environ.split(b"\0"))


def bearers(mark: str) -> set[int]:
    """Pids of the live processes that carry the mark."""
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return {pid for pid in pids if pid != os.getpid() and bears(pid, mark)}


def kill(
    find: Callable[[], set[int]], keep: Collection[int] = (), patience: float = 5.0
) -> set[int]:
    """SIGKILL whatever ``find`` returns, until it returns nothing: a process may fork meanwhile.

    Args:
        find: the pids to end; asked anew until it has none but zombies.
        keep: children of this process whose exit status somebody else will take.
        patience: seconds after which to give up.

    Returns:
        the pids that are still there (in the kernel, uninterruptible).
    """
    deadline = time.monotonic() + patience
    while left := {pid for pid in find() if not _is_zombie(pid)}:
        _kill_once(left, find)
        bury(left.difference(keep))
        if time.monotonic() > deadline:
            return left
        time.sleep(0.002)
    return set()


def _kill_once(pids: set[int], find: Callable[[], set[int]]) -> None:
    with ExitStack() as stack:
        pinned: dict[int, int] = {}
        for pid in pids:
            with suppress(ProcessLookupError):
                pinned[pid] = os.pidfd_open(pid)
                stack.callback(os.close, pinned[pid])
        # Asked again now that they are pinned: none of these pids can come to mean another process.
        for pid in find() & pinned.keys():
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(pinned[pid], signal.SIGKILL)


def bury(pids: set[int]) -> None:
    """Take the exit status of those that are children of this process: no zombie stays."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def _is_zombie(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True
    return text[text.rindex(b")") + 2 :].split()[0] in (b"Z", b"X")
