"""Opens files in folders where programs may write, too.

A program may put a link, a FIFO, a device or a folder in the place of a file. These functions do
not write through a link, and do not block on a FIFO.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from .errors import RunDirError
from .hidden import SECRETS

_LARGEST = 1 << 30  # bytes; the plan of 65,536 GPUs has a tenth of them


def replace_file(path: Path, content: bytes, *, is_durable: bool = True) -> None:
    """Replace a file atomically, or make it; a link in its place is replaced, not followed.

    Unless ``is_durable`` is false, it waits until a loss of power cannot undo that.

    Raises:
        OSError: it cannot be written.
    """
    with _beside(path) as part:
        part.unlink(missing_ok=True)  # of a process that was killed, or a link
        with os.fdopen(new_file(part), "wb") as out:
            out.write(content)
            out.flush()
            if is_durable:
                os.fsync(out.fileno())


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A path to write to, whose file replaces ``path`` when the block ends without an error.

    A link is followed, since the user named it. What is not a file, such as a pipe, is itself
    written to.

    Raises:
        OSError: it cannot be replaced.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    with _beside(Path(os.path.realpath(path))) as part:
        yield part


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """A path beside it, whose file replaces it when the block ends without an error."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield part
        part.replace(path)
    except BaseException:
        with suppress(OSError):  # on a full disk it takes room
            part.unlink()
        raise


def new_file(path: Path) -> int:
    """Make a file to write, and return its descriptor.

    Raises:
        OSError: it cannot be made; FileExistsError if there is anything, also a link or a FIFO.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, SECRETS.mode)


def append_file(path: Path) -> BinaryIO:
    """Open a file to append to it, or make it; a link or anything but a file is refused.

    Raises:
        RunDirError: it cannot be opened.
    """
    # With O_RDWR, a FIFO without a reader opens, too, and the check can say that it is not a file
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.fdopen(_checked(os.open(path, flags, SECRETS.mode)), "ab", buffering=0)
    except OSError as error:
        why = "it is a link, and is not followed" if path.is_symlink() else error.strerror
        raise RunDirError(f"cannot write {path}: {why}") from error


def open_file(path: Path) -> BufferedReader:
    """Open a file to read it; a FIFO is refused, because it would block.

    Raises:
        OSError: it is not there, cannot be read, or is not a file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(_checked(fd), "rb")


def _checked(fd: int) -> int:
    """The descriptor, if it is that of a file; else it is closed."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    code = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
    raise OSError(code, os.strerror(code) if code == errno.EISDIR else "Not a file")


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a file, or its first ``most`` bytes.

    Raises:
        OSError: as for ``open_file``; or all are wanted, and it has more than ``_LARGEST``.
    """
    with open_file(path) as file:
        if most is None and os.fstat(file.fileno()).st_size > _LARGEST:
            raise OSError(errno.EFBIG, f"it has more than {_LARGEST >> 20} MiB")
        return file.read(-1 if most is None else most)


def read_end(path: Path, most: int, start: int = 0) -> bytes:
    """The last ``most`` bytes of a file, but none before its byte ``start``; errors as above."""
    with open_file(path) as file:
        file.seek(max(start, file.seek(0, 2) - most))
        return file.read()


def disk_use(folder: Path) -> tuple[int, int]:
    """The bytes and the number of the files below a folder; of those that can be seen."""
    size = count = 0
    folders = [os.fspath(folder)]  # a list, since Python 3.11's os.walk calls itself for each
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_size
                    count += 1
    return size, count
