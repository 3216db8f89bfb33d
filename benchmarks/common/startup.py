"""What a rank does until its first step is done, and how long that takes.

The moments are those of the host's clock that counts from its boot, which no one sets. It also
tells when a process began, and torchrun, which is its parent.
"""

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

MAX_DURATION = "MILABENCH_MAX_DURATION"  # seconds
TICKS = os.sysconf("SC_CLK_TCK")  # in a second, of the times in /proc


def since_boot() -> float:
    """Seconds since the host was booted."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def deadline() -> float:
    """The age in seconds at which this launch is ended; infinite if that is not known."""
    return float(os.environ.get(MAX_DURATION) or math.inf)


def launch_age() -> float:
    """Seconds since this process began, or torchrun if it did so; 0 if the host does not tell."""
    began = _torchrun_began() or _began(os.getpid())
    return 0.0 if began is None else since_boot() - began


class Startup:
    """Seconds of each part of a rank's start-up, one after the other without a gap.

    ``spawn`` is from the beginning of torchrun to that of this process: torchrun's own imports, and
    its rendezvous with those of other nodes. ``import`` ends where this object is made.
    """

    def __init__(self, now: Callable[[], float] = since_boot) -> None:
        self._seconds: dict[str, float] = {}
        self._now, self._last = now, now()
        self._compiled, self._compiled_before = 0.0, 0.0
        began = _began(os.getpid())
        if began is None:
            return
        torchrun = _torchrun_began()
        if torchrun is not None:
            self._seconds["spawn"] = began - torchrun
        self._seconds["import"] = max(self._last - began, 0.0)

    def done(self, part: str) -> None:
        """Here a part ends, and the next begins; a part that comes again adds up."""
        now = self._now()
        self._seconds[part] = self._seconds.get(part, 0.0) + now - self._last
        self._last, self._compiled_before = now, _compiled_s()

    def compiled(self) -> None:
        """The first step is done: what Dynamo compiled since the last part is of that step."""
        self._compiled = _compiled_s() - self._compiled_before

    def seconds(self, first_step: float | None) -> dict[str, float]:
        """The seconds of each part; ``first_step``, if there was one, without compiling."""
        parts = dict(self._seconds)
        if first_step is not None:
            compiled = min(self._compiled, first_step)
            if compiled > 0:
                parts["compile"] = compiled
            parts["first_step"] = first_step - compiled
        return {part: round(seconds, 3) for part, seconds in parts.items()}


def _torchrun_began() -> float | None:
    return _began(os.getppid()) if "TORCHELASTIC_RUN_ID" in os.environ else None


def _began(pid: int) -> float | None:
    """When a process began, in seconds since boot; None where /proc does not tell."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19]) / TICKS


def _compiled_s() -> float:
    """Seconds that Dynamo has compiled for; importing it just to ask would take a second."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return 0.0 if dynamo is None else float(dynamo.calculate_time_spent()["total_wall_time"])
