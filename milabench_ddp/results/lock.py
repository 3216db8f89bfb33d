"""The lock of a run or of a benchmark, a file in its folder: it shows that a process is at work.

The process that runs a benchmark or a run holds its lock, and the kernel releases the lock with the
process. So a reader can tell a run that was cut off (SIGKILL, a power cut) from one that is alive,
from the folder alone, and of two commands that resume a run one is refused.

``flock`` holds over NFS, GPFS and Lustre (mounted with ``flock``), whose servers know the locks. On
a file system without locks, the process that makes the file has it; a process of this host that is
gone has not, and one of another host counts as alive until the file is removed. Where locks are
known to one node only (``nolock``, ``local_lock``, ``localflock``), nodes do not see each other's.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import RunDirError
from .run_dir import RunDir

_LOCK = ".alive"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_READERS = 0.1  # seconds to wait for readers, which hold the lock while they look


@contextmanager
def alive(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder, of a run or of a benchmark, as long as the block lasts.

    The block gets whether it holds the lock; if not, another one does, here or elsewhere.

    Raises:
        RunDirError: the folder cannot be written.
    """
    path = folder / _LOCK
    try:
        fd = _take(path)
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error
    try:
        yield fd is not None
    finally:
        if fd is not None:
            with suppress(OSError):  # without its lock the file says nothing
                path.unlink()
            os.close(fd)


@contextmanager
def claimed(run: RunDir) -> Iterator[None]:
    """Hold the lock of a run for a command that changes it, from its first look to its last write.

    Raises:
        RunDirError: another process has it, or the folder cannot be written.
    """
    with alive(run.path) as is_mine:
        if not is_mine:
            raise RunDirError(goes_on(run))
        yield


def goes_on(run: RunDir) -> str:
    """That a run cannot be resumed because it has not ended, and which process has it, if known."""
    try:
        host, pid = (run.path / _LOCK).read_text().split()[:2]
        holder = f" (process {pid} on {host})"
    except (OSError, ValueError):
        holder = ""
    return f"{run.path} has not ended{holder}: `milabench watch {run.path}` follows it"


def is_alive(folder: Path) -> bool:
    """Whether a process holds the lock of a folder, as far as can be known."""
    try:
        fd = os.open(folder / _LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return not _is_stale(fd)
    finally:
        os.close(fd)
    return False


def _take(path: Path) -> int | None:
    """A descriptor that holds the lock, with its holder in the file; None if another has it."""
    patience = time.monotonic() + _READERS
    while True:
        try:
            fd, is_new = os.open(path, _NEW, 0o644), True
        except FileExistsError:
            try:
                fd, is_new = os.open(path, os.O_RDWR | os.O_CLOEXEC), False
            except FileNotFoundError:
                continue  # its holder has just removed it
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_mine = _is_same(fd, path)
        except BlockingIOError:
            is_mine = False
        except OSError:  # no locks on this file system: the process that made the file has it
            is_mine = is_new
            if not is_mine and _is_stale(fd):
                path.unlink(missing_ok=True)
        if is_mine:
            with suppress(OSError):  # the disk is full: the lock holds without a name
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{_host()} {os.getpid()} {_started(os.getpid())}\n".encode(), 0)
            return fd
        os.close(fd)
        if time.monotonic() > patience:
            return None
        time.sleep(0.01)


def _is_same(fd: int, path: Path) -> bool:
    """Whether the file is still there: its last holder may have removed it meanwhile."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


def _is_stale(fd: int) -> bool:
    """Without locks: whether the process that made the file was on this host, and is gone."""
    try:
        host, pid, started = os.pread(fd, 4096, 0).decode().split()
    except (OSError, ValueError):
        return False
    return host == _host() and _started(int(pid)) != started


def _host() -> str:
    return os.uname().nodename


def _started(pid: int) -> str:
    """When a process of this host started, in the kernel's ticks; empty if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat[stat.rindex(")") + 2 :].split()[19]
