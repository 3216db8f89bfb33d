"""The numbers of a rank of a job, or of a device with a process of its own: each is declared once.

The table of all ranks, the document, its schema and the export are selections of these lines.
"""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

from msgspec import Struct

from .fields import DOCUMENT, EXPORT, Field, in_place
from .ranks.rank_summary import RankSummary
from .statistics.values import NAN

BY_LEDGER = "in the mean step, by the ledger"
LEDGER = {  # its items, with their meaning
    "data": BY_LEDGER,
    "forward": BY_LEDGER,
    "backward": BY_LEDGER,
    "forward_backward": "of pipelines, whose passes interleave",
    "optimizer": BY_LEDGER,
    "host": BY_LEDGER,
    "communication": "exposed, without waits for slower ranks",
    "bubble": "exposed within a pipeline",
    "waiting": "for slower ranks",
    "jitter": "what the mean step takes beyond the other items",
    "hidden": "communication behind the backward pass",
}


class RankOfRow(Struct, frozen=True):
    """A rank, with its ledger: where its mean step goes, in ms."""

    rank: RankSummary
    ledger: Mapping[str, float]

    @property
    def items(self) -> SimpleNamespace:
        return SimpleNamespace(**{name: self.ledger.get(name, NAN) for name in LEDGER})


def _rounded(name: str) -> Callable[[RankOfRow], float]:
    """A time of a rank, to 0.1 us as the programs write them."""
    return lambda of: round(getattr(of.rank, name), 4)


NUMBERS, PAIRS = Mapping[str, float], Mapping[str, tuple[float, float]]

# fmt: off
RANK: tuple[Field, ...] = (
    Field("name", "for people, such as rank 3", "rank.id.name", kind=str, heading="rank"),
    Field("node", "null if all ranks are on one node", lambda of: of.rank.id.node or None,
          kind=str | None, heading="node"),
    Field("job", "the job that it is of", "rank.id.job", kind=int),
    Field("rank", "of the job; or the index of a device that a process is alone on",
          "rank.id.rank", kind=int),
    Field("steps", "timed steps in the steady state", "rank.steps", kind=int, heading="steps",
          format="d"),
    Field("step_ms", "the median step", _rounded("median"), "ms",
          heading="ms", format=".4g"),
    Field("step_ms_p95", "what 95 of 100 steps do not exceed", _rounded("p95"), "ms",
          heading="p95_ms", format=".4g"),
    Field("step_ms_std", "the standard deviation of its steps", "rank.std", "ms"),
    Field("wait_ms", "the mean wait for data in a step", _rounded("waited"), "ms",
          heading="wait_ms", format=".4g"),
    Field("own_ms", "the step without waits for other ranks", _rounded("local_ms"), "ms",
          heading="own_ms", format=".4g"),
    Field("memory_allocated", "the most that its allocator gave out", "rank.allocated", "MiB",
          heading="allocated", format=".0f"),
    Field("memory_reserved", "the most that its allocator held", "rank.reserved", "MiB",
          heading="reserved", format=".0f"),
    Field("stages", "of a pipeline, by their numbers in the model", "rank.stages",
          kind=tuple[int, ...], places=DOCUMENT),
    Field("own_part_ms", "own_ms, by part of the step", "rank.local", kind=NUMBERS,
          places=DOCUMENT),
    Field("shares", "of the step, by part", "rank.shares", kind=NUMBERS, places=DOCUMENT),
    Field("part_ms", "mean and deviation by part of the step", "rank.part_ms", "ms", kind=PAIRS,
          places=DOCUMENT),
    Field("ledger_ms", "where the mean step goes: all items but hidden add up to it", "ledger",
          "ms", kind=NUMBERS, places=DOCUMENT),
    *(Field(f"{item}_ms", meaning, f"items.{item}", "ms", places=EXPORT)
      for item, meaning in LEDGER.items()),
)
# fmt: on
IN_TABLE = tuple(each for each in RANK if each.heading)
IN_DOCUMENT, IN_EXPORT = in_place(RANK, DOCUMENT), in_place(RANK, EXPORT)
