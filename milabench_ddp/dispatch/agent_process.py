"""The process of an agent, as the coordinator that started it sees it."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_TAIL = 1 << 14  # bytes of a log that are read
_LINES = 5


class AgentProcess:
    """The process that a coordinator started for a node: an agent, or ``ssh`` or ``srun`` for one.

    Args:
        popen: the process.
        log: the file that has its standard error.
        start: where this process begins to write in the log, which earlier ones have begun.
    """

    def __init__(self, popen: "subprocess.Popen[bytes]", log: Path, start: int) -> None:
        self._popen, self._log, self._start = popen, log, start

    def exit_status(self, patience: float) -> int | None:
        """Its exit status, negative for a signal; None if it runs on for ``patience`` seconds."""
        with suppress(subprocess.TimeoutExpired):
            return self._popen.wait(patience)
        return None

    def last_lines(self) -> tuple[str, ...]:
        """The last lines that it printed on standard error."""
        return last_lines(self._log, self._start)


def last_lines(log: Path, start: int = 0) -> tuple[str, ...]:
    """The last lines of a log after its byte ``start``, without empty ones; none without a log."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(start, size - _TAIL))
            text = file.read().decode(errors="backslashreplace")
    except OSError:
        return ()
    lines = [line.rstrip() for line in text.splitlines()]
    return tuple([line for line in lines if line][-_LINES:])


def main_line(lines: Sequence[str]) -> str:
    """The last line that may say what went wrong: srun's own lines say only that it ended."""
    useful = [line for line in lines if not line.startswith(("srun: ", "slurmstepd: "))]
    return (useful or lines or [""])[-1].strip()
