"""The process of an agent, as the coordinator that started it sees it."""

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..events import exit_reason
from ..files import open_file

_TAIL = 1 << 14  # bytes of a log that are read
_LINES = 5
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
        """Why it ended: its exit status, what it said, and the name of its log."""
        parts = []
        status = self.exit_status(_END)
        if status is not None:
            parts.append(f"its agent ended with {exit_reason(status)}")
        if said := main_line(self.last_lines()):
            parts.append(said)
        return f"{': '.join(parts)} (see {self._log})".lstrip()

    def slurm_error(self) -> str:
        """What Slurm said when it ended the process, for want of memory for example; or nothing."""
        self.exit_status(_END)  # until then, ``srun`` may still say why
        return slurm_error(self.last_lines())

    def last_lines(self) -> tuple[str, ...]:
        """The last lines that it printed on standard error."""
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
    """Why Slurm ended a process, in its own words; empty if it does not say."""
    errors = [line for line in lines if _OF_SLURM.match(line) and " error: " in line]
    about_memory = [line for line in errors if is_about_memory(line)]
    return (about_memory or errors or [""])[-1].strip()


def is_about_memory(error: str) -> bool:
    """Whether Slurm says that it ended a process for want of memory."""
    return bool(_MEMORY.search(error))
