"""The lock of a run, of a benchmark or of a node, a file: it shows that a process is at work.

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
import shlex
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from ..errors import RunDirError, disk_errors
from ..files import read_bytes

_LOCK = ".alive"
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OLD = os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST = 4096  # bytes of a lock that are read: a host and a process
_READERS = 0.1  # seconds to wait for readers, which hold the lock while they look


@contextmanager
def held(path: Path, patience: float = _READERS) -> Iterator[bool]:
    """Hold the lock that this file is, as long as the block lasts.

    The block gets whether it holds the lock; if not, another one does, here or elsewhere.

    Args:
        patience: seconds to wait for its holder.
    """
    with disk_errors("write", path):
        fd = _take(path, patience)
    try:
        yield fd is not None
    finally:
        if fd is not None:
            with suppress(OSError):  # without its lock the file says nothing
                if _is_same(fd, path):
                    path.unlink()
            os.close(fd)


def alive(folder: Path) -> AbstractContextManager[bool]:
    return held(folder / _LOCK)


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    with alive(folder) as is_mine:
        if not is_mine:
            raise RunDirError(goes_on(folder))
        yield


def goes_on(folder: Path) -> str:
    """A sentence: the run, or the benchmark, has not ended, and which process runs it, if known."""
    run = folder if (folder / "run.json").exists() else folder.parent
    said = f"{folder} has not ended{holder(folder / _LOCK)}"
    return f"{said}: `milabench watch {shlex.quote(str(run))}` follows it"


def holder(path: Path) -> str:
    """Which process holds the lock of a file, and since when; empty if that is not known."""
    host, pid, _ = _holder(path)
    try:
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(path.stat().st_mtime))
    except OSError:
        return ""
    return f" (process {pid} on {host}, since {since})" if pid else ""


def host_of(path: Path) -> str:
    """The host whose process holds the lock of a file, or has ended without giving it back."""
    return _holder(path)[0]


def kill_holder(path: Path) -> None:
    """SIGKILL the process that holds the lock of a file, if it is one of this host."""
    host, pid, started = _holder(path)
    if host == _host() and _started(pid) == started:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _holder(path: Path) -> tuple[str, int, str]:
    """The host, the pid and the start of the process in a lock; empty if that is not known."""
    try:
        host, pid, started = read_bytes(path, _MOST).decode().split()
        return host, int(pid), started
    except (OSError, ValueError):
        return "", 0, ""


def is_alive(folder: Path) -> bool:
    try:
        fd = os.open(folder / _LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return not _is_stale(folder / _LOCK)
    finally:
        os.close(fd)
    return False


def _take(path: Path, patience: float) -> int | None:
    """A descriptor that holds the lock, with its holder in the file; None if another has it."""
    end = time.monotonic() + patience
    while True:
        fd = _try(path)
        if fd is not None:
            with suppress(OSError):  # the disk is full: the lock holds without a name
                os.ftruncate(fd, 0)
                os.pwrite(fd, f"{_host()} {os.getpid()} {_started(os.getpid())}\n".encode(), 0)
            return fd
        if time.monotonic() > end:
            return None
        time.sleep(0.01)


def _try(path: Path) -> int | None:
    """A descriptor that holds the lock; None if another process has it, or just released it."""
    try:
        fd, is_new = os.open(path, _NEW, 0o644), True
    except FileExistsError:
        try:
            fd, is_new = os.open(path, _OLD), False
        except FileNotFoundError:
            return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_mine = _is_same(fd, path)
    except BlockingIOError:
        is_mine = False
    except OSError:  # no locks on this file system: the process that made the file has it
        is_mine = is_new
        if not is_new and _is_stale(path):
            _remove_stale(path, fd)
    if is_mine:
        return fd
    os.close(fd)
    return None


def _remove_stale(path: Path, fd: int) -> None:
    """Without locks: remove the file of a process that is gone, in one of those that try.

    Only the process that makes the guard may remove it. A later one finds a new file in its place.
    """
    guard = path.with_name(f"{path.name}.stale")
    try:
        os.close(os.open(guard, _NEW, 0o644))
    except FileExistsError:
        return
    try:
        if _is_same(fd, path):
            path.unlink()
    finally:
        guard.unlink(missing_ok=True)


def _is_same(fd: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(fd), path.stat())
    return False


def _is_stale(path: Path) -> bool:
    """Whether a process of this host is in a lock that is gone."""
    host, pid, started = _holder(path)
    return host == _host() and _started(pid) != started


def _host() -> str:
    return os.uname().nodename


def _started(pid: int) -> str:
    """When a process of this host started, in the kernel's ticks; empty if there is none."""
    try:
        stat = read_bytes(Path(f"/proc/{pid}/stat"))  # its name may have any bytes
    except OSError:
        return ""
    return stat[stat.rindex(b")") + 2 :].split()[19].decode()
