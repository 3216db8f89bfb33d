"""The measurements of one rank."""

import math
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..samples import Amount, Number

if TYPE_CHECKING:
    Times = array[float]
else:
    Times = array  # Python 3.11 knows no other name for it as it runs

MOST = 1e100  # more than any time, so that its square is finite; as for samples


class Bucket(Struct, frozen=True):
    """A bucket of gradients that DDP reduces at once, on one rank; medians over a few steps."""

    bytes: int
    ready_ms: Number  # from the beginning of the backward pass to the last of its gradients
    ms: Number | None = None  # what its all-reduce takes on the rank that comes last
    hidden_ms: Number | None = None  # the part of it in which this rank's backward pass computes


class Collections(Struct, frozen=True):
    """Python's garbage collections in the steps of a rank, but for the youngest objects."""

    ms: Amount = 0.0  # of all
    full_ms: Amount | None = None  # of a full collection after the steps
    frozen_ms: Amount | None = None  # of another one, after ``gc.freeze``


class Rank(Struct):
    """The measurements of one rank, as rank 0 reports them at the end; without the warm-up.

    The times of 8,192 ranks and 1,000 steps stay in memory, so they are arrays: doubles for the
    steps, and single precision, which is exact to 1e-7, for their parts.
    """

    ms: Times = field(default_factory=lambda: array("d"))  # of each step
    wait_ms: Times = field(default_factory=lambda: array("f"))  # for data in each step
    parts: dict[str, Times] = {}  # ms in each step, by part
    # Of programs that do not tell the parts of each step: over all steps after the warm-up
    shares: Mapping[str, float] = {}  # of the steps, by part; sum 1
    part_ms: Mapping[str, tuple[float, float]] = {}  # mean and deviation
    allocated: float = math.nan  # the most memory, in MiB; NaN where it is not known
    reserved: float = math.nan
    startup: Mapping[str, float] = {}  # seconds, by part
    node: str = ""  # the node on which it runs, if there are several
    buckets: list[Bucket] = []  # of DDP, in the order of reduction
    # own work of a backward pass with communication beside it, over that without
    overlap_slowdown: float = math.nan
    collections: Collections = Collections()

    @property
    def waited(self) -> float:
        return math.fsum(self.wait_ms)

    @property
    def hidden_ms(self) -> float:
        known = [bucket.hidden_ms for bucket in self.buckets if bucket.hidden_ms is not None]
        return math.fsum(known) if self.buckets and len(known) == len(self.buckets) else math.nan

    def take(
        self, ms: list[float], wait_ms: list[float], parts: Mapping[str, list[float]] | None = None
    ) -> bool:
        """Append steps in the order of time; if one is not a time, append none and return False."""
        try:
            steps, waits = array("d", ms), array("f", wait_ms)
            times = {name: array("f", found) for name, found in (parts or {}).items()}
        except (OverflowError, TypeError, ValueError):
            return False
        if not all(math.isfinite(sum(found)) for found in (steps, waits, *times.values())):
            return False
        if steps and (min(steps) < 0 or max(steps) > MOST):
            return False
        self.ms.extend(steps)
        self.wait_ms.extend(waits)
        for name, found in times.items():
            self.parts.setdefault(name, array("f")).extend(found)
        return True
