"""Python's garbage collector beside a measured loop.

A full collection visits every object that Python holds, half a million in a training program: tens
of milliseconds, in other steps on each rank, and all ranks wait for each. (Planned collections won
12.6 % at 128 ranks: ByteDance, OSDI 2025, arXiv 2505.05713.) ``gc.freeze`` hides these objects from
it, and what is left takes microseconds. It is not turned off, because steps make garbage that only
it can free, tensors among it: under activation checkpointing, pipelines and tensor parallelism.

Steps that keep what they make bring the cost back. So the time of all collections in the loop is
known, and where they matter, a full collection after the loop is timed before and after another
``gc.freeze``.
"""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

MATTERS = 0.001  # of the time of the loop
IMMORTAL = 5_000  # Python 3.12 counts its own objects that never die as frozen: some hundreds


@dataclass(eq=False)
class Collections:
    """The collections in a loop, but for the many and short ones of the youngest objects."""

    step: Callable[[], int]  # the current one
    now: Callable[[], int] = time.perf_counter_ns
    step_ms: dict[int, float] = field(default_factory=dict)  # in each step that has any
    full_ms: float | None = None  # a full collection after the loop; None: not known
    frozen_ms: float | None = None  # another one, after ``gc.freeze``
    _begin: int = 0

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if not info["generation"]:
            return
        if phase == "start":
            self._begin = self.now()
            return
        step = self.step()
        self.step_ms[step] = self.step_ms.get(step, 0.0) + (self.now() - self._begin) / 1e6

    def try_frozen(self, loop_ms: float) -> None:
        """If the collections matter in a loop of so many ms, time one before and after a freeze."""
        if sum(self.step_ms.values()) < MATTERS * loop_ms:
            return
        gc.collect()  # frees what is garbage: the next two only visit
        self.full_ms = self._collect()
        gc.freeze()
        self.frozen_ms = self._collect()

    def told(self, first: int, count: int) -> dict[str, Any]:
        """What is reported of ``count`` steps from ``first`` on; empty without collections."""
        steps = range(first, first + count)
        measured = [ms for step, ms in self.step_ms.items() if step in steps]
        if not measured:
            return {}
        return {
            "ms": round(sum(measured), 3),
            "full_ms": self.full_ms and round(self.full_ms, 4),
            "frozen_ms": self.frozen_ms and round(self.frozen_ms, 4),
        }

    def _collect(self) -> float:
        begin = self.now()
        gc.collect()
        return (self.now() - begin) / 1e6


@contextmanager
def frozen(collections: Collections | None = None) -> Iterator[None]:
    """Collect now; in the block, collections visit only what is made there.

    If some objects were frozen before, all of them stay so: Python cannot thaw a part.
    ``collections`` counts those in the block.
    """
    is_first = gc.get_freeze_count() < IMMORTAL
    gc.collect()
    gc.freeze()
    watchers = [] if collections is None else [collections]
    gc.callbacks.extend(watchers)
    try:
        yield
    finally:
        for watcher in watchers:
            gc.callbacks.remove(watcher)
        if is_first:
            gc.unfreeze()
