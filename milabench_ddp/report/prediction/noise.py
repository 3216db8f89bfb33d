"""The noise of own work: how long the slowest of many nodes takes, by measured steps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from ..statistics.batch_means import BATCHES
from .points import LaunchWork

if TYPE_CHECKING:
    import numpy as np

    from ..statistics.values import Counts, Floats

MOST = 1 << 15  # steps of ranks in a resample


class OwnWork(Struct, frozen=True):
    """Measured steps, each of one node; a row for each, a column for each of its ranks."""

    before: "Floats"  # ms before the backward pass
    backward: "Floats"

    def slowest(self, count: int, ready: "Floats", tails: "Floats", level: float = 1.0) -> float:
        """The expected time of a step on ``count`` nodes, each drawn from the measured steps.

        Communication k begins when the last rank has its gradients and communication k - 1 is over.
        So the last one is over when a rank's gradients k were, plus all communication from k on, at
        the worst over ranks and k. The expectation of the largest of ``count`` draws with
        replacement is exact: the mean over all resamples there are.

        Args:
            count: of nodes.
            ready: when a rank begins each communication, as shares of its backward pass.
            tails: the ms of each communication with those after it.
            level: a factor of all own work.
        """
        from ...numerics import np

        ends = np.full(self.backward.shape, -np.inf)
        for share, tail in zip(ready, tails, strict=True):
            np.maximum(ends, level * share * self.backward + tail, out=ends)
        nodes = np.sort((level * self.before + ends).max(axis=1))
        below = (np.arange(len(nodes) + 1) / len(nodes)) ** count
        return float(np.diff(below) @ nodes)


def own_work(
    launches: Sequence[LaunchWork], each: int, level: float, steps: "Sequence[Counts] | None" = None
) -> OwnWork:
    """The steps of some launches, each scaled to the same mean own work.

    Args:
        launches: of any number of nodes.
        each: ranks of a node.
        level: the mean own work in ms.
        steps: which steps of each launch; None: all of them.
    """
    from ...numerics import np

    before: list[Floats] = []
    backward: list[Floats] = []
    for place, launch in enumerate(launches):
        kept = slice(None) if steps is None else steps[place]
        # the ranks of a node are in a row: they are drawn together, from the same step
        order = np.argsort(launch.nodes, kind="stable")
        scale = level / launch.level
        for halves, ms in ((before, launch.before), (backward, launch.backward)):
            by_node = ms[order][:, kept].reshape(-1, each, ms[:, kept].shape[1])
            halves.append(scale * by_node.transpose(0, 2, 1).reshape(-1, each))
    return OwnWork(np.concatenate(before), np.concatenate(backward))


def resampled(launches: Sequence[LaunchWork], chance: "np.random.Generator") -> "list[Counts]":
    """Steps of each launch, drawn in blocks with replacement: neighbouring steps are alike."""
    from ...numerics import np

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
