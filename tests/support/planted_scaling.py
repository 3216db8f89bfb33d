"""Launches on any number of nodes, by events, of which everything is known."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from milabench_ddp.report.prediction.points import NODES, LaunchWork, Point, Points
from milabench_ddp.report.ranks.overlap import TimedBucket
from tests.support.result_files import end, job, rates, start, steps, told, write

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]  # relative; of ranks, in steps


def normal(chance: np.random.Generator, ranks: int, steps: int) -> Floats:
    """Of 4 %."""
    return 0.04 * chance.standard_normal((ranks, steps))


def heavy(chance: np.random.Generator, ranks: int, steps: int) -> Floats:
    """Exponential, of 4 %: most steps are alike, and some are much longer."""
    return 0.04 * (chance.exponential(1.0, (ranks, steps)) - 1)


def alike(chance: np.random.Generator, ranks: int, steps: int) -> Floats:
    """Of 4 %, where neighbouring steps are alike: AR(1) with 0.7."""
    found = chance.standard_normal((ranks, steps))
    for step in range(1, steps):
        found[:, step] = 0.7 * found[:, step - 1] + np.sqrt(1 - 0.7**2) * found[:, step]
    return 0.04 * found


def lognormal(chance: np.random.Generator, ranks: int, steps: int) -> Floats:
    """Lognormal, of 10 %."""
    return np.exp(0.1 * chance.standard_normal((ranks, steps)) - 0.005) - 1


def spikes(chance: np.random.Generator, ranks: int, steps: int) -> Floats:
    """Of 1 %, and one step in fifty takes half as much again."""
    late = 0.5 * (chance.random((ranks, steps)) < 0.02) - 0.01
    return late + 0.01 * chance.standard_normal((ranks, steps))


def ring(count: int) -> float:
    """The hops of a ring."""
    return count - 1


def tree(count: int) -> float:
    """The hops of a tree."""
    return float(np.log2(count))


class Planted(Struct, frozen=True):
    """A training under DDP; times in ms, sizes in bytes."""

    before: float = 40.0
    backward: float = 60.0
    sizes: tuple[float, ...] = (1e6, *[25e6] * 6, 14e6)
    ready: tuple[float, ...] = (0.02, 0.16, 0.3, 0.44, 0.58, 0.72, 0.86, 1.0)
    constant: float = 0.0
    hop: float = 0.02
    hops: Callable[[int], float] = ring
    beta: float = 4e6  # bytes in a ms
    congestion: Callable[[int], float] = lambda _: 1.0
    noise: Noise = normal
    launch: float = 0.005  # by how much launches vary, as a fraction
    jitter: float = 0.75  # of each message, as a multiple of the noise of own work
    levels: Sequence[float] = ()  # of nodes: factors of their own work; () if they are alike
    told: bool = True  # whether its ranks tell their buckets

    def messages(self, count: int) -> Floats:
        """How long each bucket takes."""
        alpha = self.constant + self.hop * self.hops(count)
        share = 2 * (count - 1) / count
        ms = alpha + share * np.array(self.sizes) / self.beta * self.congestion(count)
        return np.where(count > 1, ms, 0.0)

    def launched(
        self, count: int, chance: np.random.Generator, steps: int = 200, *, varies: bool = True
    ) -> LaunchWork:
        """A launch on so many nodes, of a rank each."""
        vary = self.launch * varies * chance.standard_normal(2)
        work = (1 + vary[0]) * (1 + self.noise(chance, count, steps))
        if self.levels:
            work *= np.array(self.levels[:count])[:, None]
        before, backward = self.before * work, self.backward * work
        took = (1 + vary[1]) * self.messages(count)[:, None]
        took = took * (1 + self.jitter * self.noise(chance, len(self.sizes), steps))
        end = np.zeros(steps)
        for share, ms in zip(self.ready, took, strict=True):
            end = np.maximum((before + share * backward).max(axis=0), end) + ms
        buckets = []
        for size, share, ms in zip(self.sizes, self.ready, took, strict=True):
            buckets.append(TimedBucket(size, share, float(np.median(ms))))
        return LaunchWork(
            tuple(f"node {n}" for n in range(count)) if count > 1 else ("",),
            before,
            backward,
            end - (before + backward).max(axis=0),
            float(end.mean()),
            32.0 * count,
            tuple(buckets) if self.told and count > 1 else (),
        )

    def points(
        self, counts: Sequence[int], launches: int, chance: np.random.Generator, steps: int = 200
    ) -> Points:
        """Measured points."""
        found = []
        for count in counts:
            several = [self.launched(count, chance, steps) for _ in range(launches)]
            found.append(Point(count, tuple(several)))
        return Points("planted", NODES, 1, "ddp", "items/s", tuple(found))

    def truth(self, count: int, steps: int = 40000) -> float:
        """The mean step."""
        chance = np.random.default_rng(count)
        return self.launched(count, chance, steps, varies=False).step


def written(folder: Path, name: str, launch: LaunchWork, repeat: str = "", **config: Any) -> Path:
    """The result file of a launch on its own, as our programs write it."""
    lines = [start(), told(model={"mode": "ddp"})]
    ends = launch.communication + launch.own.max(axis=0)
    for rank, node in enumerate(launch.nodes):
        exposed = ends - launch.own[rank]
        parts = {"forward": launch.before[rank], "backward": launch.backward[rank]}
        shown = {
            key: ms.tolist() for key, ms in {**parts, "exposed_communication": exposed}.items()
        }
        lines += [told(rank, node=node), steps(rank, ends.tolist(), parts=shown)]
        if launch.buckets:
            last = float(np.median(launch.backward[rank]))
            buckets = [
                {"bytes": int(each.bytes), "ready_ms": each.ready * last, "ms": each.ms}
                for each in launch.buckets
            ]
            lines.append(told(rank, buckets=buckets, overlap_slowdown=1.0))
    observations = rates(1e3 * launch.units / ends, steps=1)
    tag = [name, *([repeat] * bool(repeat)), "0"]
    nodes = len(set(launch.nodes))
    whole = {"matrix": {"nodes": nodes, "model": "gpt"}, "tag": tag, **config}
    config_line = job(name, launch.ranks // nodes, nodes, **whole)
    return write(folder, ".".join(tag), config_line, *lines, observations, end(outcome="ok"))
