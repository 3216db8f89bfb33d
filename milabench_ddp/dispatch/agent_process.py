"""The process of an agent, as the coordinator that started it sees it, and its log.

One thread writes what all agents print on standard error to their logs.
"""

import os
import re
import selectors
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import RunDirError
from ..events import exit_reason
from ..files import append_file, read_end
from ..hidden import SECRETS
from ..launch.channel import LABEL, LineBuffer
from ..launch.output_limit import OutputLimit
from ..results.run_dir import make_folder
from ..visible import visible

SETUP_FAILED = "the setup command failed: "
_TAIL = 1 << 14  # bytes of a log that are read
_LINES = 5
_CHUNK = 1 << 18  # bytes of one read
_LIMIT = 64.0  # MiB that are kept of what one agent prints
_WRITE = 5.0  # seconds for the disk to take it; a disk may hang for ever
_END = 1.0  # seconds for an agent that has closed its pipes to end
_CUT = 1024  # bytes after which srun cuts a line
_ENDED = b'{"type":"AgentEnded"'  # the word of a shell
_TASKS = re.compile(rb"srun: .* tasks? (\d[\d,-]*):")
_ABORTED = re.compile(r"srun: error: .*\baborting,.* on node (\d+)", re.IGNORECASE)
_OF_SLURM = re.compile(r"(?:srun|slurmstepd\S*): ")
_OF_ERROR = re.compile(r"milabench_ddp\.errors\.\w+: ")  # in the last line of a traceback
_MEMORY = re.compile(r"memory limit|out of memory|oom_kill", re.IGNORECASE)


class AgentProcess:
    """The process that a coordinator started for a node, or for several: an agent, ssh or srun.

    Args:
        popen: the process; None if another process has started it.
        log: has what it prints on standard error.
        step: the nodes of a job step, whose process is ``srun``; a shell tells how agents end.
    """

    def __init__(
        self, popen: "subprocess.Popen[bytes] | None", log: "AgentLog", step: Sequence[str] = ()
    ) -> None:
        self._popen, self._log, self._step = popen, log, step
        self.is_step = bool(step)
        self.told: int | None = None  # the exit status of the agent, as a shell has it
        self.is_lost = False  # its node is: it may never end

    def exit_status(self, patience: float) -> int | None:
        """Its exit status, negative for a signal; None if it runs on for ``patience`` seconds.

        In that time its log becomes whole, too, unless a process that it left still prints to it.
        """
        deadline = time.monotonic() + patience
        status = self.told
        if status is not None:
            status = 128 - status if status > 128 else status
        elif self._popen is not None:
            with suppress(subprocess.TimeoutExpired):
                status = self._popen.wait(patience)
        if status is not None:
            self._log.is_whole.wait(max(0.0, deadline - time.monotonic()))
        return status

    def await_end(self, deadline: float) -> None:
        """Wait until a shell has told that it has ended; of others only their process tells it."""
        if self.is_step and not self.is_lost:
            self._log.has_ended.wait(max(0.0, deadline - time.monotonic()))

    def why_ended(self) -> str:
        parts = []
        status = self.exit_status(_END)
        said = main_line(self.last_lines())
        if status is not None and not said.startswith(SETUP_FAILED):
            how = "ended with" if status >= 0 else "was"
            parts.append(f"its agent {how} {exit_reason(status)}")
        if said:
            parts.append(said)
        return f"{': '.join(parts)} (see {self._log.path})".lstrip()

    def why_lost(self) -> tuple[str, str]:
        """Why its node cannot be used any more, and what Slurm said of it."""
        status = self.exit_status(_END)  # until then, ``srun`` may still say why
        lines = last_lines(self._log.path, self._log.start, 4 * _LINES)
        error = slurm_error(lines)
        aborted = _ABORTED.search("\n".join(lines))
        if self.is_step and self.told is None and aborted:
            node = self._step[int(aborted[1])]
            return f"has lost its agent: Slurm has ended its step, because of {node}", error
        why = "is gone: its connection broke"
        is_agents = self.told is not None or not self.is_step  # else it is srun's
        if is_agents and status is not None and status < 0:
            why = f"has lost its agent: {exit_reason(status)}"
        return f"{why}{error and f': {error}'}", error

    def last_lines(self) -> tuple[str, ...]:
        return last_lines(self._log.path, self._log.start)


def last_lines(log: Path, start: int = 0, most: int = _LINES) -> tuple[str, ...]:
    """The last lines of a log after its byte ``start``, without empty ones; none without a log."""
    try:
        text = read_end(log, _TAIL, start).decode(errors="backslashreplace")
    except OSError:
        return ()
    lines = [line.rstrip() for line in text.splitlines()]
    return tuple([line for line in lines if line][-most:])


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
    """The last error of Slurm, but the exit status of a task, which the task tells itself."""
    errors = [line for line in lines if _OF_SLURM.match(line) and " error: " in line]
    errors = [line for line in errors if ": Exited with exit code " not in line]
    about_memory = [line for line in errors if is_about_memory(line)]
    return (about_memory or errors or [""])[-1].strip()


def is_about_memory(error: str) -> bool:
    return bool(_MEMORY.search(error))


class AgentLog:
    """What one agent prints: its own messages, and those of its ``setup`` and ``ssh`` or ``srun``.

    Commands of ``setup`` may print a secret, or without end. The file is made for the first line.

    Args:
        path: the log, which earlier agents may have begun.
        limit: MiB that are kept.

    Raises:
        RunDirError: it cannot be written.
    """

    def __init__(self, path: Path, limit: float = _LIMIT) -> None:
        self.path, self.start = path, 0
        if os.path.lexists(path):
            with append_file(path) as file:
                self.start = os.fstat(file.fileno()).st_size
        self._file: BinaryIO | None = None
        self.has_ended = threading.Event()  # set once the agent has ended
        self.is_whole = threading.Event()  # set once all that it has printed is in it
        self._limit = OutputLimit(limit)

    def add(self, lines: bytes) -> None:
        if kept := self._limit.keep(lines.decode("utf-8", "backslashreplace")):
            self._write(kept)

    def end(self) -> None:
        self._write(self._limit.rest())
        if self._file is not None:
            self._file.close()
        self.has_ended.set()
        self.is_whole.set()

    def _write(self, text: str) -> None:
        shown = visible(SECRETS.hide(text.replace("\r\n", "\n")))  # ssh ends its lines so
        with suppress(OSError, RunDirError):  # on a full disk it is lost: no agent may wait for it
            if shown and self._file is None:
                make_folder(self.path.parent)
                self._file = append_file(self.path)
            if self._file is not None:
                self._file.write(shown.encode())


class _Pipe:
    """A pipe to which agents print: one, or those of a step, whose lines srun labels.

    What srun says itself has no label: it is for the tasks that it names, or for all.
    """

    def __init__(self, logs: Mapping[int | None, AgentLog]) -> None:
        self._logs, self._lines = logs, LineBuffer()
        self._cut: dict[int, bytes] = {}  # the beginnings of lines that srun has cut, by label

    def add(self, chunk: bytes) -> None:
        if None in self._logs:
            self._add(self._lines.take(chunk))
            return
        for line in self._lines.feed(chunk):
            self._add(line)

    def end(self) -> None:
        if rest := self._lines.rest():
            self._add(rest)
        for label, text in self._cut.items():
            self._logs[label].add(text)
        for log in self._logs.values():
            log.end()

    def _add(self, line: bytes) -> None:
        if None in self._logs:
            self._logs[None].add(line)
        elif found := LABEL.match(line):
            if (task := int(found[1])) in self._logs:
                self._add_of(task, line[found.end() :])
        else:
            named = self._logs.keys() & _tasks(line)
            for label in named or self._logs:
                self._logs[label].add(line)
            for label in named:
                self._end(label)

    def _add_of(self, task: int, text: bytes) -> None:
        whole = self._cut.pop(task, b"") + text
        if whole.startswith(_ENDED):
            self._end(task)
        elif len(text) == _CUT + 1:  # a secret may go on in the next line
            self._cut[task] = whole[:-1]
        else:
            self._logs[task].add(whole)

    def _end(self, label: int | None) -> None:
        """The log of an agent is whole once its shell and srun have said that it has ended."""
        log = self._logs[label]
        (log.is_whole if log.has_ended.is_set() else log.has_ended).set()


def _tasks(line: bytes) -> set[int | None]:
    """The tasks that a line of srun names: ``srun: error: node[1-2]: tasks 0-1: Killed``."""
    named: set[int | None] = set()
    for part in found[1].split(b",") if (found := _TASKS.match(line)) else ():
        first, _, last = part.partition(b"-")
        named.update(range(int(first), int(last or first) + 1))
    return named


class AgentLogs:
    """The logs of agents that print to pipes."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._closing = os.eventfd(0, os.EFD_CLOEXEC)
        self._selector.register(self._closing, selectors.EVENT_READ)
        self._until: float | None = None  # monotonic seconds, once it is to end
        self._thread = threading.Thread(target=self._copy, name="agent-logs", daemon=True)
        self._thread.start()

    def add(self, pipe: int, logs: Mapping[int | None, AgentLog]) -> None:
        """Write what comes through a pipe to logs, by label; closes all at its end."""
        self._selector.register(pipe, selectors.EVENT_READ, _Pipe(logs))

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
