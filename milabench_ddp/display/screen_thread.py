"""Writes to the terminal in a thread of its own, so that a run never waits for a terminal.

A terminal may be stopped (Ctrl-S), or be a pipe without a reader.
"""

import os
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import IO

from ..errors import reason_of

INTERVAL = 1.0
"""Seconds between two drawings: more would compete with the measured programs."""

PATIENCE = 2.0
"""Seconds at the end of a run to write what is left."""

Job = Callable[[], None]
Picture = AbstractContextManager[Job | None]
Jobs = queue.SimpleQueue[Job | None]


@contextmanager
def write_in_thread(
    stream: IO[str], jobs: Jobs, picture: Picture | None = None, interval: float = INTERVAL
) -> Iterator[None]:
    """Do jobs in order, and draw between them, as often as the terminal keeps up.

    If the terminal is slow, drawings are skipped and jobs are not. A terminal that fails, or is
    gone, gets nothing more. Jobs that are left after the block have ``PATIENCE`` seconds.

    Args:
        stream: where to write; it is closed at the end, unless it is ``sys.stderr`` itself.
        picture: a context that the thread enters, which returns the function that draws; None
            draws nothing.
    """
    thread = threading.Thread(
        target=_work,
        args=(stream, jobs, picture or nullcontext(), interval),
        name="screen",
        daemon=True,  # a terminal that is stopped does not keep the program from ending
    )
    thread.start()
    try:
        yield
    finally:
        jobs.put(None)
        thread.join(PATIENCE)


def _work(stream: IO[str], jobs: Jobs, picture: Picture, interval: float) -> None:
    has_failed = False
    due = time.monotonic() + interval
    closed = nullcontext() if stream is sys.stderr else stream
    with suppress(OSError), closed, picture as draw:
        while True:
            try:
                job = jobs.get(timeout=draw and max(0.0, due - time.monotonic()))
            except queue.Empty:
                job = draw
            if job is None:
                return
            try:
                job()
            except OSError:  # the terminal is gone
                raise
            except Exception as error:  # noqa: BLE001 - the others are done after any error
                if not has_failed:
                    said = f"the progress display is incomplete: {reason_of(error)}"
                    print(said, file=stream, flush=True)
                has_failed = True
            if job is draw:
                due = time.monotonic() + interval


def own_stderr() -> IO[str]:
    """A stream on the file of ``sys.stderr``, or that one if it has no file.

    A thread that waits in a stream holds its lock, and the interpreter needs that of ``sys.stderr``
    to end.
    """
    try:
        fd = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):
        return sys.stderr
    return os.fdopen(fd, "w", encoding=sys.stderr.encoding, errors="backslashreplace")
