"""Writes what agents print on standard error to their logs, in one thread."""

import os
import selectors
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..events import Output
from ..files import append_file
from ..hidden import SECRETS
from ..launch.metrics_channel import LineBuffer
from ..launch.output_limit import OutputLimit
from ..results.run_dir import make_folder
from ..visible import visible

_CHUNK = 1 << 18  # bytes of one read
_LIMIT = 64.0  # MiB that are kept of what one agent prints
_WRITE = 5.0  # seconds for the disk to take it; a disk may hang for ever


class AgentLog:
    """What one agent prints: its own messages, and those of its ``setup`` and ``ssh`` or ``srun``.

    Commands of ``setup`` may print a secret, or without end.

    Args:
        path: the log, which earlier agents may have begun.
        limit: MiB that are kept.

    Raises:
        RunDirError: it cannot be opened.
    """

    def __init__(self, path: Path, limit: float = _LIMIT) -> None:
        make_folder(path.parent)
        self._file: BinaryIO = append_file(path)
        self.path, self.start = path, os.fstat(self._file.fileno()).st_size
        self.is_whole = threading.Event()  # set once all that the agent has printed is in it
        self._lines, self._limit = LineBuffer(), OutputLimit(limit)

    def add(self, chunk: bytes) -> None:
        """Write the lines that these bytes complete."""
        self._keep(self._lines.take(chunk))

    def end(self) -> None:
        """Write the rest, and close the log."""
        self._keep(self._lines.rest())
        self._write(self._limit.rest())
        self._file.close()
        self.is_whole.set()

    def _keep(self, data: bytes) -> None:
        text = data.decode("utf-8", "backslashreplace")
        if text and (kept := self._limit.keep(Output("", 0.0, "stderr", text))):
            self._write(kept.text)

    def _write(self, text: str) -> None:
        shown = visible(SECRETS.hide(text.replace("\r\n", "\n")))  # ssh ends its lines so
        with suppress(OSError):  # on a full disk it is lost, but no agent may wait for it
            self._file.write(shown.encode())


class AgentLogs:
    """The logs of agents that print to pipes."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._closing = os.eventfd(0, os.EFD_CLOEXEC)
        self._selector.register(self._closing, selectors.EVENT_READ)
        self._until: float | None = None  # monotonic seconds, once it is to end
        self._thread = threading.Thread(target=self._copy, name="agent-logs", daemon=True)
        self._thread.start()

    def add(self, pipe: int, log: AgentLog) -> None:
        """Write what comes through a pipe to a log; closes both at its end."""
        self._selector.register(pipe, selectors.EVENT_READ, log)

    def close(self, patience: float) -> None:
        """Write what the pipes still hold, and wait so long for their ends.

        A process that ``setup`` left behind may hold one open for ever.
        """
        self._until = time.monotonic() + patience
        os.eventfd_write(self._closing, 1)
        self._thread.join(patience + _WRITE)

    def _copy(self) -> None:
        while self._until is None or self._selector.get_map():
            left = None if self._until is None else self._until - time.monotonic()
            ready = self._selector.select(left)
            if left is not None and left <= 0:
                break
            for key, _ in ready:
                if key.data is None or not (chunk := os.read(key.fd, _CHUNK)):
                    self._close(key)
                else:
                    key.data.add(chunk)
        for key in list(self._selector.get_map().values()):
            self._close(key)
        self._selector.close()

    def _close(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fd)
        os.close(key.fd)
        if key.data is not None:
            key.data.end()
