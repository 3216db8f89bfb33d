"""The pipelines of a job: which ranks do the same work, and how long a pipeline takes.

The ranks of a job that are in the same place of their pipelines have the same stages of the model,
and do the same work. Ranks with other stages do other work, and are not compared.
"""

from collections.abc import Iterable

from msgspec import Struct

from ...numerics import Floats
from ...results.records import Record, is_finite

Stages = tuple[int, ...]  # those of a rank, by their numbers in the model; empty: no pipeline


class Pipelines(Struct, frozen=True):
    """The pipelines of a job, one after the other in the order of its ranks.

    Without pipelines each rank is one of its own.
    """

    stages: tuple[Stages, ...] = ((),)  # of each rank of a pipeline
    microbatches: int = 1

    @property
    def size(self) -> int:
        return len(self.stages)

    def of_rank(self, rank: int) -> Stages:
        return self.stages[rank % self.size]

    def longest(self, own: Floats) -> Floats:
        """The time of the slowest pipeline in each step, by the own work of all ranks in ms.

        Of p ranks with own work w and m passes each (microbatches times stages of a rank), it is
        sum(w) / m + (m - 1) / m max(w): the first microbatch goes through all of them, then the
        slowest sets the pace. (Y. Huang et al., "GPipe", 2019, for equal stages, where the bubble
        is the fraction (p - 1) / (m + p - 1).) Schedules without a bubble take less.

        Args:
            own: of shape (ranks, steps).
        """
        passes = self.microbatches * max(len(self.stages[0]), 1)
        each = own.reshape(-1, self.size, own.shape[1])
        times: Floats = each.sum(axis=1) / passes + (1 - 1 / passes) * each.max(axis=1)
        slowest: Floats = times.max(axis=0)
        return slowest


def pipelines_of(record: Record) -> Pipelines:
    model = record.reported("model")
    told, microbatches = model.get("stages"), model.get("chunks")
    stages = []
    for found in told if isinstance(told, list) else ():
        numbers = found if isinstance(found, list) else []
        stages.append(tuple(k for k in numbers if isinstance(k, int)))
    if not stages or not all(stages) or not is_finite(microbatches) or not microbatches >= 1:
        return Pipelines()
    return Pipelines(tuple(stages), int(microbatches))


def stages_text(stages: Iterable[int]) -> str:
    return ", ".join(map(str, stages))
