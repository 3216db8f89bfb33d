"""The standard streams of a process: open, and a standard error that nobody reads ends no run."""

import io
import os
import sys


class _Unheard(io.FileIO):
    """A stream that takes what is written also when its reader is gone, or its disk is full."""

    def write(self, data: "io.ReadableBuffer") -> int:  # type: ignore[name-defined]
        """Write what can be written; the rest is lost."""
        try:
            return super().write(data) or 0
        except OSError:
            return len(data)


def prepare_streams() -> None:
    """Open those of the standard streams that are closed, and make standard error one that is safe.

    What goes wrong with it must not end what it is only to tell about.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:  # after `2>&-`, the next file would be fd 2
        os.set_inheritable(fd, True)
    os.close(fd)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")  # what its encoding cannot write
    if sys.stderr is None or _is_plain_file(sys.stderr):
        safe = io.BufferedWriter(_Unheard(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(safe, errors="backslashreplace", line_buffering=True)


def _is_plain_file(stream: object) -> bool:
    """Whether it is Python's own standard error, and not one that a test has put in its place."""
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is no buffer
    return type(raw) is io.FileIO and raw.fileno() == 2
