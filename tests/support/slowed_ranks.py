"""Ranks under DDP whose own work is slower beside communication, by events: all is known."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tests.support.result_files import told
from tests.support.trained_ranks import Job

Floats = NDArray[np.float64]
NEVER = 1e-9  # ms: shorter than any event


class Slowed(Struct, frozen=True):
    """A training under DDP of several ranks, in ms."""

    before: tuple[float, ...] = (30.0,) * 4  # own work of each rank before its backward pass
    backward: tuple[float, ...] = (60.0,) * 4  # the same in it, without communication beside it
    ready: tuple[float, ...] = (
        0.3,
        0.55,
        0.8,
        1.0,
    )  # each bucket, the last with the pass, as a share of it
    ms: tuple[float, ...] = (12.0,) * 4  # what the all-reduce of each takes
    slower: float = 1.2  # a factor of what is done beside communication
    noise: float = 0.01

    def step(self, before: Floats, work: Floats) -> tuple[Floats, float, Floats]:
        """When each rank has each bucket in its pass, the step, and what each rank hides."""
        time, done, left = 0.0, np.zeros(len(work)), list(self.ms)
        hidden = np.zeros((len(work), len(left)))
        ready = np.full(hidden.shape, np.nan)
        marks = np.unique([*self.ready, 1.0])
        while left or (done < 1).any():
            place = len(self.ms) - len(left)
            sends = bool(left) and bool((done >= self.ready[place] - NEVER).all())
            pace = 1 / (self.slower if sends else 1.0) / work
            computes = (time >= before - NEVER) & (done < 1)
            goals = np.array(
                [marks[marks > min(share, 1 - NEVER) + NEVER / 2][0] for share in done]
            )
            waits = np.where(computes, (goals - done) / pace, before - time)
            waits = waits[computes | (time < before - NEVER)]
            passed = min([*waits, *left[:1]] if sends else waits)
            done = np.where(computes, done + passed * pace, done)
            done[done > 1 - NEVER] = 1.0
            time += passed
            has = np.isnan(ready) & (done[:, None] >= np.array(self.ready) - NEVER)
            ready[has] = np.broadcast_to(time - before[:, None], has.shape)[has]
            if sends:
                hidden[computes, place] += passed
                left[0] -= passed
                if left[0] < NEVER:
                    del left[0]
        return ready, time, hidden

    def steps(self, count: int, chance: np.random.Generator) -> list[tuple[Floats, ...]]:
        """Of steps: work before the pass, the pass alone, buckets in it, the end, what it hides."""
        found = []
        for _ in range(count):
            noise = 1 + self.noise * chance.standard_normal((2, len(self.before)))
            before, work = noise * [self.before, self.backward]
            ready, end, hidden = self.step(before, work)
            found.append((before, work, ready, np.array(end), hidden))
        return found

    def mean(self, count: int, chance: np.random.Generator) -> float:
        """The mean step."""
        return float(np.mean([end for *_, end, _ in self.steps(count, chance)]))

    def hidden_mean(self, count: int, chance: np.random.Generator) -> float:
        """The mean step if all communication were beside the backward pass."""
        longer = sum(self.ms) * (1 - 1 / self.slower)
        ends = [(before + work).max() + longer for before, work, *_ in self.steps(count, chance)]
        return float(np.mean(ends))

    def write(self, folder: Path, count: int, chance: np.random.Generator) -> None:
        """The files of a run, with what a few more steps tell, as our programs write them."""
        before, _, ready, ends, _ = map(np.array, zip(*self.steps(count, chance), strict=True))
        passes = ready[:, :, -1]
        exposed = ends[:, None] - before - passes
        parts = {"forward": before, "backward": passes, "exposed_communication": exposed}
        parts = {"data": 0 * before, **parts}
        shaped = {name: ms.T for name, ms in parts.items()}
        job = Job(shaped, np.tile(ends, (len(self.before), 1)))
        job.write(folder, *self._told(chance))

    def _told(self, chance: np.random.Generator) -> Sequence[str]:
        pairs = zip(self.steps(3, chance), self.steps(3, chance), strict=True)
        slowdown = np.median([one[2][:, -1] / other[1] for one, other in pairs], axis=0)
        _, _, ready, _, hidden = map(np.array, zip(*self.steps(3, chance), strict=True))
        lines = []
        for rank in range(len(self.before)):
            buckets = []
            for place, ms in enumerate(self.ms):
                at, hides = (float(np.median(each[:, rank, place])) for each in (ready, hidden))
                buckets.append({"bytes": 1000, "ready_ms": at, "ms": ms, "hidden_ms": hides})
            lines.append(told(rank, buckets=buckets, overlap_slowdown=float(slowdown[rank])))
        return lines
