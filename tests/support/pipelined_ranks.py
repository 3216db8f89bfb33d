"""The steps of ranks in pipelines, made from the own work of their stages by GPipe's schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.result_files import end, job, start, steps, told, write

Floats = NDArray[np.float64]
OPTIMIZER = 3.0  # ms


@dataclass(frozen=True)
class PipelineJob:
    """The parts of each step in ms: shape (ranks, steps)."""

    own: Floats  # of the passes
    exposed: Floats
    stages: int
    microbatches: int

    @property
    def step(self) -> Floats:
        return self.own + self.exposed + OPTIMIZER

    def facts(self, name: str = "GPipe") -> dict[str, object]:
        stages = [[stage] for stage in range(self.stages)]
        return {"mode": "pdp", "stages": stages, "chunks": self.microbatches, "name": name}

    def write(self, folder: Path) -> Path:
        """The files of a run of this job alone."""
        lines = []
        for rank, ms in enumerate(self.step):
            parts = {
                "forward_backward": self.own[rank].tolist(),
                "optimizer": [OPTIMIZER] * len(ms),
                "exposed_communication": self.exposed[rank].tolist(),
            }
            lines.append(steps(rank, ms.tolist(), parts=parts))
        return write(
            folder, "b.0", job("b", len(self.own)), start(), told(model=self.facts()), *lines, end()
        )


def pipelined(
    replicas: int = 2,
    stages: int = 2,
    microbatches: int = 8,
    *,
    own: Mapping[int, float] | None = None,
    slow: Mapping[int, float] | None = None,
    noise: float = 0.01,
    count: int = 120,
    seed: int = 1,
) -> PipelineJob:
    """A job whose ranks run GPipe, and whose replicas wait for each other before the update.

    Args:
        replicas: pipelines.
        stages: of each.
        microbatches: of each step.
        own: ms of own work of some stages in a step; the others have 80.
        slow: a factor for the own work of some ranks.
        noise: the deviation of a pass, as a fraction.
        count: of the steps.
        seed: of the noise.
    """
    random = np.random.default_rng(seed)
    ranks = replicas * stages
    level = np.array([(own or {}).get(rank % stages, 80.0) for rank in range(ranks)])
    factors = np.array([(slow or {}).get(rank, 1.0) for rank in range(ranks)])
    level = (level * factors).reshape(replicas, stages) / microbatches
    ready = np.zeros((replicas, stages))  # when each rank begins
    works, ends = [], [ready]
    for _ in range(count + 1):
        passes = level[:, :, None] * (1 + noise * random.normal(size=(*level.shape, microbatches)))
        works.append(passes.sum(axis=2))
        for order, share in ((range(stages), 1 / 3), (reversed(range(stages)), 2 / 3)):
            arrived = np.zeros((replicas, microbatches))  # of each message
            for stage in order:
                for k in range(microbatches):
                    begun = np.maximum(ready[:, stage], arrived[:, k])
                    ready = ready.copy()
                    ready[:, stage] = begun + share * passes[:, stage, k]
                    arrived[:, k] = ready[:, stage]
        ready = np.tile(ready.max(axis=0), (replicas, 1)) + OPTIMIZER
        ends.append(ready)
    step = np.diff(np.array(ends), axis=0)[1:].reshape(count, ranks).T
    work = np.array(works)[1:].reshape(count, ranks).T
    return PipelineJob(work, step - work - OPTIMIZER, stages, microbatches)
