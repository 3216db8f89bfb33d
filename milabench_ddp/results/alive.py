"""Whether a run still goes on: its folder holds a lock that the kernel gives back with the process.

So a reader can tell a run that was cut off (SIGKILL, a power cut) from one that goes on, from the
folder alone. Where the file system has no locks, a run that has not ended is taken to go on.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import RunDirError

_NAME = ".alive"


@contextmanager
def alive(folder: Path) -> Iterator[None]:
    """Hold the lock of a run folder, as long as the block lasts.

    Raises:
        RunDirError: the folder cannot be written.
    """
    path = folder / _NAME
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error
    try:
        with suppress(OSError):  # no locks on this file system
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        with suppress(OSError):  # without its lock the file says nothing
            path.unlink()
        os.close(fd)


def is_alive(folder: Path) -> bool:
    """Whether somebody holds the lock of a run folder, as far as can be known."""
    try:
        fd = os.open(folder / _NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
