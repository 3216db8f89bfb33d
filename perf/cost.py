"""What a command costs with all its processes: CPU time, wall time and memory."""

import resource
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .paired import REPOSITORY, FailedRunError, environment

PAUSE = 0.02  # seconds between two looks at the memory


@dataclass(frozen=True)
class Cost:
    """What a command took, with its children."""

    cpu: float  # seconds
    wall: float
    mib: float  # the most memory of all its processes together


def watched(command: Sequence[str], output: Path | None = None) -> Cost:
    """The cost of a command, whose output goes to a file or is dropped; its failure is an error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    most = 0
    with (output or Path("/dev/null")).open("wb") as out:
        start = time.perf_counter()
        child = psutil.Popen(command, stdout=out, env=environment(), cwd=REPOSITORY)
        while child.poll() is None:
            most = max(most, _memory(child))
            time.sleep(PAUSE)
        wall = time.perf_counter() - start
    if child.returncode:
        raise FailedRunError(f"{' '.join(command)}: exit status {child.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, most / 2**20)


def _memory(process: psutil.Process) -> int:
    used = 0
    with suppress(psutil.Error):
        for each in (process, *process.children(recursive=True)):
            used += each.memory_info().rss
    return used
