"""The steps of ranks that train together, made from their own work: who comes last is known."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.support.result_files import end, job, start, steps, told, write

Floats = NDArray[np.float64]
SHARES = {"data": 0.05, "forward": 0.3, "backward": 0.5, "optimizer": 0.1, "host": 0.05}
BEHIND = ("optimizer", "host")  # in a step, they come after its communication


@dataclass(frozen=True)
class Job:
    """The parts of each step in ms: shape (ranks, steps)."""

    parts: dict[str, Floats]
    step: Floats

    def write(self, folder: Path, *more: str) -> Path:
        """The files of a run of this job alone, with ``more`` lines of its program."""
        lines = []
        for rank in range(len(self.step)):
            parts = {name: ms[rank].tolist() for name, ms in self.parts.items()}
            waits = parts.pop("data")
            lines.append(steps(rank, self.step[rank].tolist(), waits, parts=parts))
        model = told(model={"mode": "ddp"})
        return write(folder, "b.0", job("b", len(self.step)), start(), model, *lines, *more, end())


def trained(
    ranks: int = 4,
    count: int = 120,
    *,
    own: float = 80.0,
    communication: float = 20.0,
    noise: float = 0.01,
    slow: dict[int, dict[str, float]] | None = None,
    pauses: float = 0.0,
    seed: int = 1,
) -> Job:
    """A job whose ranks wait for the last of them in each step, and then communicate.

    Args:
        ranks: how many.
        count: of the steps.
        own: ms of own work in a step, spread over the parts by ``SHARES``.
        communication: ms.
        noise: the deviation of each part from step to step, as a fraction.
        slow: a factor for parts of some ranks.
        pauses: ms, of one rank after the other, in every tenth step, in its forward pass.
        seed: of the noise.
    """
    random = np.random.default_rng(seed)
    parts: dict[str, Floats] = {}
    for name, share in SHARES.items():
        parts[name] = own * share * (1 + noise * random.normal(size=(ranks, count + 1)))
    for rank, factors in (slow or {}).items():
        for name, factor in factors.items():
            parts[name][rank] *= factor
    for step in range(0, count + 1, 10):
        parts["forward"][step // 10 % ranks, step] += pauses
    before = sum(ms for name, ms in parts.items() if name not in BEHIND)
    behind = sum(ms for name, ms in parts.items() if name in BEHIND)
    rounds = before[:, 1:] + behind[:, :-1]  # type: ignore[index]  # sums of arrays
    parts = {name: ms[:, 1:] for name, ms in parts.items()}
    parts["exposed_communication"] = rounds.max(axis=0) - rounds + communication
    step = np.sum(list(parts.values()), axis=0)
    return Job(parts, step)
