"""Appends to files in a thread of its own, so that the caller never waits for the disk.

A disk may fill, hang or vanish, and programs must still end in time.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import RunDirError
from ..files import new_file

CAPACITY = 64 << 20
"""Bytes that may wait for the disk; with more, pipes of programs are not read."""

PATIENCE = 30.0
"""Seconds without progress after which a disk counts as hanging."""

THREAD = "file writer"
_AT_ONCE = 1 << 20  # bytes of one write; each is a sign of progress
_FLOOD = 1 << 15  # bytes; after so many the thread pauses, so that it writes more at once
_PAUSE = 0.005  # seconds
_ASK = 0.2  # seconds between two questions whether to hurry


class FileWriter:
    """Makes files and appends to them, in order, until the first error.

    An existing file, a link or a FIFO in its place is not written to.

    Args:
        wake: called in the writer's thread when there is room again, and after an error; must
            not wait.
        capacity: bytes that may wait.
    """

    def __init__(self, wake: Callable[[], None] = lambda: None, capacity: int = CAPACITY) -> None:
        self._wake, self._capacity = wake, capacity
        self._changed = threading.Condition()  # guards the attributes below
        self._pending: dict[Path, list[bytes]] = {}
        self._waiting = 0  # bytes, with those that are being written
        self._progress = 0  # how many writes have returned
        self._error: RunDirError | None = None
        self._is_busy = False
        self._is_closing = False
        self.unneeded: set[Path] = set()  # those to remove once all is written, if made here
        self._files: dict[Path, int] = {}  # of the thread alone, as all below
        self._now: Path | None = None  # what is being written, or was last
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    def append(self, path: Path, data: bytes) -> None:
        with self._changed:
            self._raise_error()
            if self._thread.ident is None:
                self._thread.start()
            self._pending.setdefault(path, []).append(data)
            self._waiting += len(data)
            self._changed.notify_all()

    def has_room(self) -> bool:
        with self._changed:
            self._raise_error()
            return self._waiting < self._capacity

    def flush(
        self, patience: float = PATIENCE, is_hurried: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until all is written.

        Args:
            patience: seconds without progress after which to give up.
            is_hurried: whether to give up now; asked five times a second.

        Raises:
            RunDirError: a write failed, or the disk hangs.
        """
        with self._changed:
            progress, since = self._progress, time.monotonic()
            while (self._pending or self._is_busy) and self._error is None:
                self._changed.wait(min(patience, _ASK))
                if self._progress != progress:
                    progress, since = self._progress, time.monotonic()
                elif is_hurried() or time.monotonic() - since >= patience:
                    raise RunDirError(self._hangs(time.monotonic() - since))
            self._raise_error()

    def close(
        self, patience: float = PATIENCE, is_hurried: Callable[[], bool] = lambda: False
    ) -> None:
        """Write what is left, and close the files; an error is raised as by ``flush``."""
        try:
            self.flush(patience, is_hurried)
        finally:
            with self._changed:
                self._is_closing = True
                self._wake = lambda: None  # the supervisor may be gone when a disk answers at last
                self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(patience)
        with self._changed:
            self._raise_error()
            if self._thread.is_alive():
                raise RunDirError(self._hangs(patience))

    def _raise_error(self) -> None:
        if self._error is not None:
            raise RunDirError(str(self._error)) from self._error.__cause__

    def _hangs(self, seconds: float) -> str:
        lines = sum(part.count(b"\n") for parts in self._pending.values() for part in parts)
        left = f"; {lines} lines are not written" if lines else ""
        return f"cannot write {self._now}: the disk has not answered for {seconds:.0f} s{left}"

    # The thread of the writer.

    def _run(self) -> None:
        try:
            while batch := self._next():
                sizes = [self._write(path, b"".join(parts)) for path, parts in batch.items()]
                if sum(sizes) >= _FLOOD:
                    time.sleep(_PAUSE)
            while self._files:
                path, fd = self._files.popitem()
                self._close(path, fd)
                if path in self.unneeded:
                    path.unlink()
        except OSError as error:
            self._fail(error)
            for fd in self._files.values():
                with suppress(OSError):
                    os.close(fd)

    def _next(self) -> Mapping[Path, list[bytes]]:
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()
            while not self._pending and not self._is_closing:
                self._changed.wait()
            batch, self._pending = self._pending, {}
            self._is_busy = bool(batch)
            return batch

    def _write(self, path: Path, data: bytes) -> int:
        self._now = path
        if path not in self._files:
            self._files[path] = new_file(path)
        rest = memoryview(data)
        while rest:
            written = os.write(self._files[path], rest[:_AT_ONCE])
            rest = rest[written:]
            with self._changed:
                was_full = self._waiting >= self._capacity
                self._waiting -= written
                self._progress += 1
                self._changed.notify_all()
                if was_full and self._waiting < self._capacity:
                    self._wake()
        return len(data)

    def _close(self, path: Path, fd: int) -> None:
        self._now = path
        is_gone = not os.fstat(fd).st_nlink
        os.close(fd)  # some file systems tell only now that the disk is full
        if is_gone:
            raise FileNotFoundError(errno.ENOENT, "it was removed while it was written")

    def _fail(self, error: OSError) -> None:
        failed = RunDirError(f"cannot write {self._now}: {_said(error)}")
        failed.__cause__ = error
        with self._changed:
            self._error, self._is_busy = failed, False
            self._pending.clear()
            self._changed.notify_all()
            self._wake()


def _said(error: OSError) -> str:
    if isinstance(error, FileExistsError):
        return "there is something in its place, and it is not written to"
    return error.strerror or str(error)
