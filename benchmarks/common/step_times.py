"""The times of the steps of a loop, and of their parts."""

from array import array
from collections.abc import Sequence
from statistics import fmean, pstdev

from benchmarks.common.clocks import Clock
from benchmarks.common.marks import EXPOSED, Observation, Waits


class StepTimes:
    """The times of the measured steps, and of the warm-up, in milliseconds.

    ``ms`` holds the times of the steps, ``wait_ms`` the waits for data, ``part_ms`` the parts of
    the body, and ``warmup_ms`` the steps of the warm-up.
    """

    def __init__(self, parts: Sequence[str], waits: Waits | None) -> None:
        self.ms, self.wait_ms, self.warmup_ms = array("d"), array("d"), array("d")
        self.part_ms = {name: array("d") for name in parts}
        if waits is not None:
            self.part_ms[EXPOSED] = array("d")
        self._waits = waits

    def count(self, seen: Observation, clock: Clock) -> None:
        spans = seen.spans(clock)
        steps = self.warmup_ms if seen.warmup else self.ms
        steps.frombytes(spans.sum(axis=1).tobytes())
        if seen.warmup:
            return
        columns = [*spans.T]
        if self._waits is not None:
            waited = seen.waited(self._waits.clock)
            columns = [*(spans - waited).T, waited.sum(axis=1)]
        for times, column in zip((self.wait_ms, *self.part_ms.values()), columns, strict=True):
            times.frombytes(column.tobytes())

    def step_fractions(self) -> dict[str, float]:
        """The fraction of the measured steps in each part, with sum 1; empty for a single part."""
        total, fractions = sum(self.ms), {}
        if total:
            for name, ms in self._all_parts().items():
                fractions[name] = round(sum(ms) / total, 6)
        return fractions

    def part_spread(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each part over the measured steps, in milliseconds."""
        spread = {}
        if self.ms:
            for name, ms in self._all_parts().items():
                spread[name] = round(fmean(ms), 4), round(pstdev(ms), 4)
        return spread

    def _all_parts(self) -> dict[str, Sequence[float]]:
        """Milliseconds of the parts of the body, and of the wait for data; empty for one part."""
        if len(self.part_ms) < 2:
            return {}
        return {**self.part_ms, "data": self.wait_ms}
