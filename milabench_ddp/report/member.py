"""One rank of a benchmark, or one device where it runs alone, over all launches."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .place import Place


@dataclass(frozen=True)
class Member:
    """A rank or device: its steps, those before the steady state left out; times in ms."""

    place: Place
    steps: int
    median: float  # of a step
    p95: float  # 95 of 100 steps take no longer
    waited: float  # for data in a step, mean
    shares: Mapping[str, float]  # of the steps, by part
    part_ms: Mapping[str, tuple[float, float]]  # mean and deviation
    own: Mapping[str, float]  # its own part of a step (see ``own``), by part; empty: not known
    own_error: float  # standard error of their sum
    allocated: float  # MiB, the most
    reserved: float

    @property
    def own_ms(self) -> float:
        """What of a step no other rank can make longer; NaN where it is not known."""
        return math.fsum(self.own.values()) if self.own else math.nan

    def json(self) -> dict[str, Any]:
        """Everything, for the JSON; times to 0.1 us, as they were written."""
        return {
            "name": self.place.name,
            "node": self.place.node or None,
            "job": self.place.job,
            "rank": self.place.rank,
            "steps": self.steps,
            "step_ms": round(self.median, 4),
            "step_ms_p95": round(self.p95, 4),
            "wait_ms": round(self.waited, 4),
            "own_ms": round(self.own_ms, 4),
            "shares": self.shares,
            "part_ms": self.part_ms,
            "memory_allocated": self.allocated,
            "memory_reserved": self.reserved,
        }
