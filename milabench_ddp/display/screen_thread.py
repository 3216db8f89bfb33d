"""Writes to the terminal in a thread of its own, so that a run never waits for a terminal.

A terminal may be stopped (Ctrl-S), or be a pipe without a reader.
"""

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TextIO

from ..errors import reason_of

INTERVAL = 1.0
"""Seconds between two drawings: more would compete with the measured programs."""

PATIENCE = 2.0
"""Seconds at the end of a run to write what is left."""

Job = Callable[[], None]
Picture = AbstractContextManager[Job]


def at_once(job: Job) -> None:
    job()


class ScreenThread:
    """Does jobs in order, and draws between them, as often as the terminal keeps up.

    If the terminal is slow, drawings are skipped and jobs are not. A terminal that fails, or is
    gone, gets nothing more.

    Args:
        interval: seconds between two drawings.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._has_told = False  # of a job that failed

    def put(self, job: Job) -> None:
        """Have a job done; does not wait for it."""
        self._jobs.put(job)

    @contextmanager
    def running(self, stream: TextIO, picture: Picture | None = None) -> Iterator[None]:
        """Do jobs during the block, and after it those that are left, for ``PATIENCE`` at most.

        Args:
            stream: where to write; it is closed at the end.
            picture: a context that the thread enters, which returns the function that draws; None
                draws nothing.
        """
        thread = threading.Thread(
            target=self._run,
            args=(stream, picture),
            name="screen",
            daemon=True,  # a terminal that is stopped does not keep the program from ending
        )
        thread.start()
        try:
            yield
        finally:
            self._jobs.put(None)
            thread.join(PATIENCE)

    def _run(self, stream: TextIO, picture: Picture | None) -> None:
        with suppress(OSError), _closed_at_end(stream):
            if picture is None:
                while job := self._jobs.get():
                    self._do(job, stream)
            else:
                with picture as draw:
                    self._draw_between(draw, stream)

    def _do(self, job: Job, stream: TextIO) -> None:
        """Do a job; the first failure is reported, and the others are still done."""
        try:
            job()
        except OSError:  # the terminal is gone
            raise
        except Exception as error:  # noqa: BLE001 - the others are done after any error
            if not self._has_told:
                self._has_told = True
                said = f"the progress display is incomplete: {reason_of(error)}"
                print(said, file=stream, flush=True)

    def _draw_between(self, draw: Job, stream: TextIO) -> None:
        due = time.monotonic() + self._interval
        while True:
            try:
                job = self._jobs.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                self._do(draw, stream)
                due = time.monotonic() + self._interval
                continue
            if job is None:
                return
            self._do(job, stream)


@contextmanager
def _closed_at_end(stream: TextIO) -> Iterator[None]:
    """Close a stream of ``own_stderr``, but not ``sys.stderr`` itself."""
    try:
        yield
    finally:
        if stream is not sys.stderr:
            stream.close()


def own_stderr() -> TextIO:
    """A stream on the file of ``sys.stderr``, or that one if it has no file.

    A thread that waits in a stream holds its lock, and the interpreter needs that of ``sys.stderr``
    to end.
    """
    try:
        fd = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):
        return sys.stderr
    return os.fdopen(fd, "w", encoding=sys.stderr.encoding, errors="backslashreplace")
