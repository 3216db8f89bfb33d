"""Reads files that may be too large, or pipes that stay silent."""

import errno
import os
import stat

PATIENCE = 10.0  # seconds in which a pipe must send something
_CHUNK = 2**20  # bytes


def read_limited(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a file, or of a pipe such as ``<(command)``.

    Raises:
        OSError: it is not there, cannot be read, is neither a file nor a pipe, holds more than
            ``most`` bytes, or is a pipe that is silent for ``PATIENCE`` seconds.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(fd, "rb", buffering=0) as file:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "neither a file nor a pipe")
        content = bytearray()
        while len(content) <= most:
            if stat.S_ISFIFO(mode):
                _await(fd)
            chunk = file.read(_CHUNK)
            if not chunk:
                return bytes(content)
            content += chunk
    raise OSError(errno.EFBIG, f"it has more than {most // 2**20} MiB")


def _await(pipe: int) -> None:
    import select  # few files are pipes

    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    if not poll.poll(PATIENCE * 1000):
        raise TimeoutError(errno.ETIMEDOUT, f"nothing has come from this pipe for {PATIENCE:g} s")
