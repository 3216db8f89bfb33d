"""What one rank of a process measured, as rank 0 reports it at the end."""

import math
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Rank:
    """A rank's steps, warm-up not among them.

    The times of 8,192 ranks and 1,000 steps stay in memory, so they are an array of doubles, and of
    the waits only the sum is kept.
    """

    ms: "array[float]" = field(default_factory=lambda: array("d"))  # of each step
    waited: float = 0.0  # for data in all of these steps, in ms
    shares: Mapping[str, float] = field(default_factory=dict)  # of the steps, by part; sum 1
    part_ms: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # mean and deviation
    allocated: float = math.nan  # the most memory, in MiB; NaN where it is not known
    reserved: float = math.nan
    node: str = ""  # where it runs, of several nodes

    def take(self, ms: list[float], wait_ms: list[float]) -> bool:
        """Append steps in the order of time; False, and none is taken, where one is not a time."""
        try:
            steps, waited = array("d", ms), math.fsum(wait_ms)
        except (OverflowError, TypeError, ValueError):
            return False
        if not (math.isfinite(sum(steps)) and math.isfinite(waited)):
            return False
        if steps and min(steps) < 0:
            return False
        self.ms.extend(steps)
        self.waited += waited
        return True
