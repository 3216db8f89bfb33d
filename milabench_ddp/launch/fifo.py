"""Named pipes to the processes of a launch.

A path, not an inherited descriptor: torchrun starts its workers with ``close_fds=True``, so that
a descriptor does not reach them; a path in the environment does. Writes of at most PIPE_BUF
(4,096) bytes are atomic, so that all ranks of a torchrun may share one.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

METRICS = "MILABENCH_METRICS"
START = "MILABENCH_START"  # read to its end, it is the start barrier: it ends for all at once
_ROOM = 1 << 20  # bytes a program may write before it must wait for the reader


class Fifo:
    """The reading end; it holds a writing end of its own, so that no program's exit ends it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        with suppress(PermissionError):  # the user's pipes are at their limit: 64 KiB will do
            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _ROOM)

    def close(self) -> None:
        """Close and remove it; a program that still writes gets EPIPE."""
        os.close(self.fd)
        self.path.unlink(missing_ok=True)
