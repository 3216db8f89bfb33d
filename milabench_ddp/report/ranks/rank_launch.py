"""One rank in one launch of its benchmark, and its local time.

Local time is the time of the parts of a step that no other rank can make longer. Ranks that train
together wait for each other, so their step times are equal even if only one of them is slow. A slow
rank takes longer in its local time, and there it can be found. They wait where they communicate,
and a program that marks this tells it as a part of its own: all other parts are local.

Of a program that does not, the parts with communication are left out. DDP averages the gradients
during the backward pass, which ends on every rank when the slowest rank is done. (If the model has
buffers, DDP sends them from rank 0 before a forward pass. That is a wait too, but only for the
delay of rank 0 since the end of the backward pass.) Sharded and tensor parallel models communicate
in the forward pass too. The ranks of a pipeline do different work: only those that have the same
stages in different pipelines are compared. A process alone on its device waits for no other
process: its whole step is local.

A program that tells the parts of each step gives us the local time of each step, and so all numbers
of a rank are of its steady state. Of a program that tells only means and deviations of the parts,
those include the steps before it.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from ...numerics import Floats, np
from ...results.rank import Rank
from ...results.records import Record
from ..statistics.values import NAN

EXPOSED = "exposed_communication"  # the part of a step in which a rank waits for others
WHOLE = "whole"  # the local time of all parts
LOCAL = frozenset({"data", "optimizer", "host"})
# Where the program does not tell what is exposed, by the mode of training
LOCAL_PARTS: Mapping[str, frozenset[str]] = {
    "ddp": LOCAL | {"forward"},
    "fsdp": LOCAL,
    "hsdp": LOCAL,
    "tp": LOCAL,
    "tp-fsdp": LOCAL,
    "pipeline": frozenset(),
    "pdp": frozenset(),
}
BLOCKS, FEWEST_BLOCKS = 20, 8  # of the steady steps of a launch
PartTimes = Mapping[str, tuple[float, float]]  # mean and deviation in ms, by part of the step
LaunchKey = tuple[str, str]  # the run folder and the repeat
# The levels of consecutive blocks of steps: by launch, of the whole local time and of its parts
LaunchBlocks = Mapping[LaunchKey, Mapping[str, Sequence[float]]]


class RankLaunch(Struct, frozen=True):
    """A rank in one launch of its benchmark, from its steady state on; times in ms."""

    record: Record  # of its process
    rank: Rank
    ms: Floats  # of each step
    parts: Mapping[str, Floats]  # of each step, with the wait for data; empty if not told

    @property
    def key(self) -> LaunchKey:
        return str(self.record.path.parent), self.record.repeat

    @property
    def shares(self) -> Mapping[str, float]:
        whole = float(self.ms.sum())
        if not self.parts or not whole > 0:
            return self.rank.shares
        return {name: float(times.sum()) / whole for name, times in self.parts.items()}

    @property
    def part_ms(self) -> PartTimes:
        if not self.parts:
            return self.rank.part_ms
        return {name: (float(t.mean()), float(t.std())) for name, t in self.parts.items()}

    @property
    def waited(self) -> float:
        """The mean wait for data in a step; NaN if no step is known."""
        waits = self.parts.get("data")
        if waits is not None:
            return float(waits.mean())
        return self.rank.waited / len(self.rank.ms) if len(self.rank.ms) else NAN

    def own(self) -> tuple[Floats, Floats] | None:
        """The local time of each step, without and in the wait for data; None if not known."""
        data = self.parts.get("data", 0.0 * self.ms)
        if self.record.device is not None:
            return (self.ms - data, data) if len(self.ms) else None
        names = local_parts(self.record, self.parts)
        if not names:
            return None
        return sum((self.parts[name] for name in names), start=-data), data

    def blocks(self) -> Mapping[str, Sequence[float]]:
        """The level of the local time in each block of steps, of the ``WHOLE`` and of each part.

        That of waits for data is the mean. It is empty if the local time is not known.
        """
        own, names = self.own(), local_parts(self.record, self.parts)
        if own is None:
            return {}
        blocks = blocks_of(np.array([*own, *(self.parts[name] for name in names)]))
        whole, _, *parts = np.concatenate([undisturbed(each) for each in blocks], axis=-1)
        data = np.concatenate([each[1].mean(axis=-1) for each in blocks])
        levels = {WHOLE: whole + data, **dict(zip(names, parts, strict=True))}
        if "data" in levels:
            levels["data"] = data
        return {name: found.tolist() for name, found in levels.items()}


def steady_launch(record: Record, rank: Rank, unsteady: int) -> RankLaunch:
    count = len(rank.ms)
    first = unsteady if unsteady < count else 0
    parts: dict[str, Floats] = {}
    for name, times in {**rank.parts, "data": rank.wait_ms}.items():
        if count and rank.parts and len(times) == count:
            parts[name] = np.asarray(times, dtype=np.float64)[first:]
    return RankLaunch(record, rank, np.asarray(rank.ms, dtype=np.float64)[first:], parts)


def blocks_of(times: Floats) -> list[Floats]:
    """The times of steps in up to ``BLOCKS`` blocks, of at least three steps if there are enough.

    Args:
        times: shape (..., steps).

    Returns:
        the first blocks, which have a step more if need be, and the others: shape (..., blocks,
        steps). Both at once are far faster than one after another.
    """
    steps = times.shape[-1]
    count = min(BLOCKS, max(steps // 3, FEWEST_BLOCKS), steps)
    size, longer = divmod(steps, count)
    cut = longer * (size + 1)
    first = times[..., :cut].reshape(*times.shape[:-1], longer, size + 1)
    rest = times[..., cut:].reshape(*times.shape[:-1], count - longer, size)
    return [first, rest] if longer else [rest]


def undisturbed(times: Floats) -> Floats:
    """The lower quartile of steps: foreign load makes them longer, and seldom all of them.

    Args:
        times: shape (..., steps).
    """
    return np.quantile(times, 0.25, axis=-1)


def local_parts(record: Record, measured: Collection[str]) -> tuple[str, ...]:
    """The measured parts that are local: all of a process alone on its device, else by its mode."""
    if record.device is not None:
        return tuple(measured)
    if EXPOSED in measured:
        return tuple(name for name in measured if name != EXPOSED)
    local = LOCAL_PARTS.get(str(record.reported("model").get("mode")), frozenset())
    return tuple(name for name in measured if name in local)
