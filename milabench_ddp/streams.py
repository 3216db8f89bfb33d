"""Makes the standard streams safe: open, and standard error cannot end or stop a run."""

import codecs
import io
import os
import select
import sys

PATIENCE = 5.0
"""Seconds to wait, once, for a reader of standard error; after that, unread text is lost."""


class _Unheard(io.FileIO):
    """A stream that accepts all text, even without a reader or on a full disk."""

    _patience = PATIENCE

    def write(self, data: "io.ReadableBuffer") -> int:  # type: ignore[name-defined]
        poll = select.poll()
        poll.register(self.fileno(), select.POLLOUT)
        if not poll.poll(self._patience * 1000):
            self._patience = 0.0
            return len(data)
        try:
            # A pipe that is ready takes so much without a wait.
            return super().write(memoryview(data)[: select.PIPE_BUF]) or 0
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Open the standard streams that are closed, and make standard error safe.

    It only carries messages, so its errors must not end a run.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:  # after `2>&-`, the next file would be fd 2
        os.set_inheritable(fd, True)
    os.close(fd)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As Python itself does for the locale C, unless PYTHONUTF8=0: a report is no ASCII
        encoding = "utf-8" if codecs.lookup(sys.stdout.encoding).name == "ascii" else None
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    if sys.stderr is None or _is_plain_file(sys.stderr):
        safe = io.BufferedWriter(_Unheard(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(safe, errors="backslashreplace", line_buffering=True)


def _is_plain_file(stream: object) -> bool:
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer
    return type(raw) is io.FileIO and raw.fileno() == 2
