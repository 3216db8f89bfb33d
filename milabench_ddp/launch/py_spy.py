"""Asks py-spy for the stacks of a process that tells none itself, or else why it may not."""

import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .stack_frames import Threads, of_py_spy

NOT_INSTALLED = "py-spy would, and is not installed: pip install py-spy"
ROOM = 1 << 18  # bytes of its output that nobody reads until it ends
PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")


class Spy:
    """Looks at a process as often as it is asked."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._looks: list[subprocess.Popen[str]] = []

    def ask(self) -> None:
        here = Path(sys.executable).parent  # which need not be on PATH
        program = shutil.which("py-spy", path=f"{here}{os.pathsep}{os.environ.get('PATH', '')}")
        if program is None:
            return
        command = [program, "dump", "--json", "--nonblocking", "--pid", str(self._pid)]
        with suppress(OSError):  # it is of another machine, or its interpreter is gone
            self._looks.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    errors="replace",
                    pipesize=ROOM,
                )
            )

    @property
    def can_answer(self) -> bool:
        return bool(self._looks)

    @property
    def is_complete(self) -> bool:
        return all(look.poll() is not None for look in self._looks)

    def told(self, deadline: float) -> tuple[list[Threads], str]:
        """The stacks at each look, or why there are none; by a deadline, in monotonic time."""
        if not self._looks:
            return [], NOT_INSTALLED
        found = [_told(look, deadline) for look in self._looks]
        return [threads for threads, _ in found], found[0][1]


def _told(look: subprocess.Popen[str], deadline: float) -> tuple[Threads, str]:
    with look:
        try:
            told, error = look.communicate(timeout=max(deadline - time.monotonic(), 0.01))
        except subprocess.TimeoutExpired:
            look.kill()
            return (), "py-spy did not answer in time"
    threads = of_py_spy(told)
    return threads, "" if threads else _why_untold(error)


def _why_untold(error: str) -> str:
    what, _, _ = error.partition("Stack backtrace:")  # which has any word in it
    if not re.search("permi", what, re.IGNORECASE):
        said = re.search("^Error: (.*)$", what, re.MULTILINE)
        return f"py-spy says: {said[1]}" if said else "py-spy told nothing"
    scope = ""
    with suppress(OSError):  # without Yama
        scope = PTRACE_SCOPE.read_text().strip()
    if scope in ("", "0"):
        return "py-spy may not read it: a container needs `--cap-add SYS_PTRACE`"
    return f"py-spy may not read it: `sysctl kernel.yama.ptrace_scope` is {scope}, not 0"
