"""The noise of own work, and how nodes differ: how long the slowest of many nodes takes."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist

from msgspec import Struct

from ...numerics import Counts, Floats, np
from ..statistics.batch_means import BATCHES, mean_error
from ..statistics.values import mean
from .points import LaunchWork

MOST = 1 << 15  # steps of ranks in a resample
CELLS = 1024  # of a histogram of times
MOST_UNLIKE = 0.1  # a standard deviation of nodes; of two of them, it could be drawn without end


class OwnWork(Struct, frozen=True):
    """Measured steps, each of one node; a row for each, a column for each of its ranks."""

    before: Floats  # ms before the backward pass
    backward: Floats

    def slowest(self, unlike: Floats, ready: Floats, tails: Floats, level: float = 1.0) -> float:
        """The expected time of a step, in which each node has one of the measured steps.

        Communication k begins when the last rank has its gradients and communication k - 1 is over.
        So the last one is over when a rank's gradients k were, plus all communication from k on, at
        the worst over ranks and k. The largest over nodes has the product of their distributions,
        which are those of the measured steps, in cells, moved by what a node is slower.

        Args:
            unlike: by which fraction the own work of each node is longer than usual.
            ready: when a rank begins each communication, as shares of its backward pass.
            tails: the ms of each communication with those after it.
            level: a factor of all own work.
        """
        times = self._ends(ready, tails, level)
        later = unlike
        if unlike.any():
            more = self._ends(ready, tails, 1.01 * level)
            later = unlike * float((more - times).mean()) / 0.01
        least = float(times.min() + later.min())
        cell = (float(times.max() + later.max()) - least) / CELLS
        if not cell > 1e-9 * abs(least):
            return least
        at = ((times - times.min()) / cell).astype(int)
        moved = np.bincount(np.rint((later - later.min()) / cell).astype(int))
        below = np.cumsum(np.bincount(at, minlength=CELLS + 1)) / len(times)
        none_below = np.full(len(moved) - 1, 1e-300)
        logs = np.log(np.maximum(np.concatenate([none_below, below]), 1e-300))
        largest = np.exp(np.convolve(moved, logs, mode="valid"))
        inside = float((times - times.min()).mean()) - cell * float(at.mean())
        return least + inside + cell * float(np.arange(len(largest)) @ np.diff(largest, prepend=0))

    def _ends(self, ready: Floats, tails: Floats, level: float) -> Floats:
        ends = np.full(self.backward.shape, -np.inf)
        for share, tail in zip(ready, tails, strict=True):
            np.maximum(ends, level * share * self.backward + tail, out=ends)
        found: Floats = (level * self.before + ends).max(axis=1)
        return found


class NodeLevels(Struct, frozen=True):
    """How nodes differ in their own work, or ranks where these are counted; as logarithms."""

    known: "Mapping[tuple[str, int], float]"  # in the order in which they were measured
    variance: float  # as it is seen
    error: float  # the part of it that is due to the noise of steps
    freedom: int

    def unlike(self, count: int, seed: int | None) -> Floats:
        """By which fraction so many nodes are slower: first the known ones, then others.

        Args:
            count: of nodes.
            seed: by which the others are drawn; None: they are spread evenly, as one expects.
        """
        known = list(self.known.values())[:count]
        others = count - len(known)
        variance = self.variance
        if seed is None:
            drawn = np.array([NormalDist().inv_cdf((n + 0.5) / others) for n in range(others)])
        else:
            chance = np.random.default_rng(seed)
            of_known = chance.standard_normal() / math.sqrt(max(len(self.known), 1))
            if self.freedom:
                variance *= self.freedom / chance.chisquare(self.freedom)
            drawn = of_known + chance.standard_normal(others)
        spread = min(math.sqrt(max(variance - self.error, 0.0)), MOST_UNLIKE)
        found: Floats = np.expm1(np.concatenate([known, spread * drawn]))
        return found

    def of(self, launch: LaunchWork, each: int) -> Floats:
        known = [self.known.get(key, 0.0) for key in _units(launch.nodes, each)[1]]
        found: Floats = np.expm1(np.array(known))
        return found

    def level(self, launch: LaunchWork, each: int) -> float:
        """The mean own work of a launch, had it been on usual nodes."""
        return launch.level / (1 + float(self.of(launch, each).mean()))


def nodes_of(launches: Sequence[LaunchWork], each: int) -> NodeLevels:
    """How nodes differ, by the launches on the most of them.

    Each is taken to be as near to the others as the noise of its steps suggests (C. R. Henderson,
    "Best linear unbiased estimation and prediction under a selection model", Biometrics 31, 1975).

    Args:
        launches: of any number of nodes, in ascending order; nodes are known in this order.
        each: ranks of a node.
    """
    seen: dict[tuple[str, int], list[tuple[float, float]]] = {
        key: [] for one in launches for key in _units(one.nodes, each)[1]
    }
    most = max(one.ranks for one in launches)
    for launch in [one for one in launches if one.ranks == most > each]:
        order, keys = _units(launch.nodes, each)
        by_node = launch.own[order].reshape(len(keys), each, -1).mean(axis=1) / launch.level
        for key, steps in zip(keys, by_node, strict=True):
            error = mean_error(steps).sem / steps.mean()
            seen[key].append((math.log(steps.mean()), error**2))
    means = {key: np.mean(values, axis=0) for key, values in seen.items() if values}
    if len(means) < 2:
        return NodeLevels({}, 0.0, 0.0, 0)
    levels = np.array([level for level, _ in means.values()])
    levels -= levels.mean()
    noise = mean(error / len(seen[key]) for key, (_, error) in means.items())
    variance = float(levels @ levels) / (len(levels) - 1)
    levels *= max(1 - noise / variance, 0.0) if variance else 0.0
    known = dict(zip(means, levels.tolist(), strict=True))
    return NodeLevels(known, variance, noise, len(levels) - 1)


def own_work(
    launches: Sequence[LaunchWork],
    each: int,
    level: float,
    nodes: NodeLevels,
    steps: Sequence[Counts] | None = None,
) -> OwnWork:
    """The steps of some launches, each scaled to the same mean own work on usual nodes.

    Args:
        level: the mean own work in ms.
        nodes: how the nodes of the launches differ.
        steps: which steps of each launch; None: all of them.
    """
    before: list[Floats] = []
    backward: list[Floats] = []
    for place, launch in enumerate(launches):
        kept = slice(None) if steps is None else steps[place]
        # the ranks of a node are in a row: they are drawn together, from the same step
        order, keys = _units(launch.nodes, each)
        scale = level / nodes.level(launch, each) / (1 + nodes.of(launch, each)[:, None, None])
        for halves, ms in ((before, launch.before), (backward, launch.backward)):
            by_node = scale * ms[order][:, kept].reshape(len(keys), each, -1)
            halves.append(by_node.transpose(0, 2, 1).reshape(-1, each))
    return OwnWork(np.concatenate(before), np.concatenate(backward))


@lru_cache(maxsize=1000)  # of each launch, in each draw
def _units(nodes: tuple[str, ...], each: int) -> tuple[list[int], list[tuple[str, int]]]:
    order = sorted(range(len(nodes)), key=nodes.__getitem__)
    seen: Counter[str] = Counter()
    keys = []
    for rank in order[::each]:
        keys.append((nodes[rank], seen[nodes[rank]]))
        seen[nodes[rank]] += 1
    return order, keys


def resampled(launches: Sequence[LaunchWork], chance: "np.random.Generator") -> list[Counts]:
    """Steps of each launch, drawn in blocks with replacement: neighbouring steps are alike."""
    whole = sum(launch.own.size for launch in launches)
    found = []
    for launch in launches:
        steps = launch.own.shape[1]
        length = max(1, steps // BATCHES)
        blocks = -(-steps // length)
        blocks = max(1, min(blocks, round(blocks * MOST / whole)))
        starts = chance.integers(0, steps, blocks)
        found.append((starts[:, None] + np.arange(length)).ravel() % steps)
    return found
