"""Reads files that a user names, with bounds on time and memory."""

import errno
import os
import stat
from pathlib import Path

CHUNK = 2**20  # bytes
PATIENCE = 10.0  # seconds in which a pipe must send something


def read_limited(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file, or of a pipe such as ``<(command)``.

    Raises:
        OSError: it is not there, cannot be read, is neither a file nor a pipe, holds more than
            ``most`` bytes, or is a pipe that is silent for ``PATIENCE`` seconds.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "neither a file nor a pipe")
        content = bytearray()
        while len(content) <= most:
            if stat.S_ISFIFO(mode):
                _await(fd)
            chunk = os.read(fd, CHUNK)
            if not chunk:
                return bytes(content)
            content += chunk
        raise OSError(errno.EFBIG, f"it has more than {most // 2**20} MiB")
    finally:
        os.close(fd)


def is_file(path: Path) -> bool:
    """Whether it is a file; false also if its name is too long, or its folder cannot be read."""
    try:
        return path.is_file()
    except OSError:
        return False


def _await(pipe: int) -> None:
    """Wait until a pipe has something, or has ended."""
    import select  # few files are pipes

    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        raise TimeoutError(errno.ETIMEDOUT, f"nothing has come from this pipe for {PATIENCE:g} s")
