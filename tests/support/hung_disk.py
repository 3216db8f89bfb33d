"""A disk on which the writes of result files do not return, until it goes on."""

import os
import threading

import pytest

from milabench_ddp.results import file_writer


class HungDisk:
    """Hangs from ``hang`` to ``go_on``, for the threads that write result files."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._goes_on = threading.Event()
        self._goes_on.set()
        write = os.write

        def slow_write(fd: int, data: bytes) -> int:
            if threading.current_thread().name == file_writer.THREAD:
                self._goes_on.wait()
            return write(fd, data)

        monkeypatch.setattr(os, "write", slow_write)

    def hang(self) -> None:
        """No write returns any more."""
        self._goes_on.clear()

    def go_on(self) -> None:
        """All writes return."""
        self._goes_on.set()
