"""Which ranks of a torchrun have the metrics channel open.

The channel is a pipe that all ranks share, and a line does not show which of them wrote it. A
program whose ranks each write rates must therefore tell `rank` in each line; where it does not, the
ranks that opened the channel are the only sign that there were several. inotify says when it is
opened, and /proc by which processes: nothing is asked while the program computes.
"""

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from . import reap

_IN_OPEN = 0x20
_CHUNK = 1 << 16  # bytes of one read


class ChannelRanks:
    """The ranks that opened a metrics channel, by their variable ``RANK``.

    ``fd`` is readable when the channel was opened; ``look`` then finds out by whom. A rank that
    opens it for a single line is seldom seen: then only ``opened`` shows that it may not be alone.
    The kernel may count two openings as one, if they follow each other at once.

    Args:
        path: the named pipe.
        find: returns the pids of the processes that may open it.
    """

    def __init__(self, path: Path, find: Callable[[], set[int]]) -> None:
        self.ranks: set[int] = set()
        self._path, self._find = path, find
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd >= 0:  # else the user has too many watches: nothing is known of the ranks
            libc.inotify_add_watch(self.fd, os.fsencode(path), _IN_OPEN)
        self.opened, self._due = 0, 1  # how often so far, and at the next look

    def look(self) -> None:
        """Find the ranks that have the channel open now.

        A program may open it anew for each line, so the k-th look is after at least 2^k times.
        """
        with suppress(BlockingIOError):
            self.opened += len(os.read(self.fd, _CHUNK)) // 16  # the size of an event
        if self.opened < self._due:
            return
        self._due = 2 * self.opened
        for pid in self._find():
            if self._has_open(pid) and (rank := reap.rank(pid)) is not None:
                self.ranks.add(rank)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def _has_open(self, pid: int) -> bool:
        try:
            return any(fd.readlink() == self._path for fd in Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            return False  # it is gone
