"""The process of an agent, as the coordinator that started it sees it, and its log.

One thread writes what all agents print on standard error to their logs.
"""

import os
import re
import selectors
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..events import Output, exit_reason
from ..files import append_file, open_file
from ..hidden import SECRETS
from ..launch.channel import LineBuffer
from ..launch.output_limit import OutputLimit
from ..results.run_dir import make_folder
from ..visible import visible

_TAIL = 1 << 14  # bytes of a log that are read
_LINES = 5
_CHUNK = 1 << 18  # bytes of one read
_LIMIT = 64.0  # MiB that are kept of what one agent prints
_WRITE = 5.0  # seconds for the disk to take it; a disk may hang for ever
_END = 1.0  # seconds for an agent that has closed its pipes to end
_OF_SLURM = re.compile(r"(?:srun|slurmstepd\S*): ")
_OF_ERROR = re.compile(r"milabench_ddp\.errors\.\w+: ")  # in the last line of a traceback
_MEMORY = re.compile(r"memory limit|out of memory|oom_kill", re.IGNORECASE)


class AgentProcess:
    """The process that a coordinator started for a node: an agent, or ``ssh`` or ``srun`` for one.

    Args:
        popen: the process; None if another process has started it.
        log: the file that has its standard error.
        start: where this process begins to write in the log, which earlier ones have begun.
        is_whole: is set once the log has all that it printed; None if it writes the log itself.
    """

    def __init__(
        self,
        popen: "subprocess.Popen[bytes] | None",
        log: Path,
        start: int = 0,
        is_whole: threading.Event | None = None,
    ) -> None:
        self._popen, self._log, self._start = popen, log, start
        self._is_whole = is_whole

    def exit_status(self, patience: float) -> int | None:
        """Its exit status, negative for a signal; None if it runs on for ``patience`` seconds.

        In that time its log becomes whole, too, unless a process that it left still prints to it.
        """
        if self._popen is None:
            return None
        deadline = time.monotonic() + patience
        with suppress(subprocess.TimeoutExpired):
            status = self._popen.wait(patience)
            if self._is_whole is not None:
                self._is_whole.wait(max(0.0, deadline - time.monotonic()))
            return status
        return None

    def why_ended(self) -> str:
        parts = []
        status = self.exit_status(_END)
        if status is not None:
            parts.append(f"its agent ended with {exit_reason(status)}")
        if said := main_line(self.last_lines()):
            parts.append(said)
        return f"{': '.join(parts)} (see {self._log})".lstrip()

    def slurm_error(self) -> str:
        self.exit_status(_END)  # until then, ``srun`` may still say why
        return slurm_error(self.last_lines())

    def last_lines(self) -> tuple[str, ...]:
        return last_lines(self._log, self._start)


def last_lines(log: Path, start: int = 0) -> tuple[str, ...]:
    """The last lines of a log after its byte ``start``, without empty ones; none without a log."""
    try:
        with open_file(log) as file:
            size = file.seek(0, 2)
            file.seek(max(start, size - _TAIL))
            text = file.read().decode(errors="backslashreplace")
    except OSError:
        return ()
    lines = [line.rstrip() for line in text.splitlines()]
    return tuple([line for line in lines if line][-_LINES:])


def main_line(lines: Sequence[str]) -> str:
    """The last line that may say what went wrong.

    Slurm's own lines say only that it ended, unless that was for want of memory.
    """
    of_slurm = [line for line in lines if _OF_SLURM.match(line)]
    about_memory = [line for line in of_slurm if is_about_memory(line)]
    useful = [line for line in lines if line not in of_slurm]
    line = (about_memory or useful or lines or [""])[-1].strip()
    return line[said.end() :] if (said := _OF_ERROR.match(line)) else line


def slurm_error(lines: Sequence[str]) -> str:
    errors = [line for line in lines if _OF_SLURM.match(line) and " error: " in line]
    about_memory = [line for line in errors if is_about_memory(line)]
    return (about_memory or errors or [""])[-1].strip()


def is_about_memory(error: str) -> bool:
    return bool(_MEMORY.search(error))


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
        self._keep(self._lines.take(chunk))

    def end(self) -> None:
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
