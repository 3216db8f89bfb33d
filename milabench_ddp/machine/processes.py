"""The processes of others on a device. They are named, and never touched."""

import os
from collections.abc import Iterable


class OtherProcesses:
    """Names the processes on a device that this process has not started, directly or not."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}  # of each pid that was there last; empty if it is our own

    def named(self, pids: Iterable[int]) -> tuple[str, ...]:
        """The others among the processes on a device; those that cannot be seen are left out.

        A container sees no process outside of it, but a driver may tell its pid.
        """
        known = self._known
        self._known = {pid: known[pid] if pid in known else other_process(pid) for pid in pids}
        return tuple(sorted(filter(None, self._known.values())))


def other_process(pid: int, unseen: str = "") -> str:
    """A process in words, such as ``python3 (pid 4711, of alice)``; empty if it is our own.

    Args:
        pid: of the process.
        unseen: what to say of a process that cannot be seen from here.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        if os.getpid() in (pid, *(each.pid for each in process.parents())):
            return ""
        return f"{process.name()} (pid {pid}, of {process.username()})"
    except psutil.Error:
        return unseen
