"""Stragglers: devices and ranks that are slower than the others, by more than chance, all the time.

A device that runs a program alone is compared by the time of a unit of work. A rank that trains
with others is compared by its local time (see ``ranks``), which contains no wait for them: as a
whole, and each of its parts. A part varies less than the whole, so a delay in one part is seen even
where the others vary by more than the delay.

Foreign load comes and goes, and a rank that it hits is not slow. So the steady state of each launch
is cut into 8 to 20 blocks of consecutive steps, and the time of a block is the lower quartile of
its steps, which load of a part of them does not touch; of waits for data, which a loader bunches,
it is the mean. In each block, the excess of a rank is its time less that of the reference, as a
fraction of the whole local time of the reference. The reference is the median of all ranks, of an
even number the lower of the two in the middle, since load only makes longer. Two ranks have no
median that tells them apart: there it is the other rank, and the finding names both. Of several
launches, neighbouring blocks are taken together, with their median excess, so that there are some
20 in all: more blocks would vary as much each, and more of them would fall short. A rank is a
straggler if the median excess of its whole local time is more than 3 %, and more than 1 % of the
step, since the job loses at most the time by which the rank is late; and if, as a whole or in one
part,

* the median of its excesses is more than 3 %;
* this median is more than 4 standard errors. The error is that of the median of an autoregressive
  series of order 1, because neighbouring blocks are alike;
* the rank is slow all the time: in 9 of 10 blocks its excess is more than half of the median. Where
  blocks vary by more than that, it may fall short of the median by 2 standard deviations, which are
  those of the change from one block to the next: load that comes and goes seldom does so within a
  block. But it is always more than a quarter of the median;
* the rank stands out: of more than two, its median excess is more than 5 robust standard deviations
  (1.4826 times the median absolute one), from the reference, of those of the faster ranks up to the
  next after the reference: so half of all ranks may be slow.

``tests/studies/straggler_rates.py`` shows how often this names a slow rank, and how often one that
is not. With 8 to 15 steps, in 8 blocks, the k slow ranks of n, three or more, must also be the
slowest in each block: of ranks that are alike, some k are so with a probability of ``comb(n, k) **
(1 - blocks)``, which must be at most 1 %; blocks that are like their neighbours count as fewer.
Where steps are correlated by up to 0.7, at most 1 % of jobs without a slow rank name one. The same
holds for ranks that are slow in one half of the steps of each launch, which takes 8 blocks: 48
steps in all. Ranks that tell only means over all steps are not compared.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from itertools import chain

from msgspec import Struct

from ...numerics import Floats, np
from ..statistics.values import FAR, NAN, median, neighbours_std, robust_std
from .rank_launch import BLOCKS, FEWEST_BLOCKS, WHOLE, LaunchBlocks
from .rank_summary import RankId, RankSummary, in_half

MEDIAN_TO_MEAN = 1.2533  # standard errors of a median and of a mean, of a normal distribution
SLOW = 0.03  # a smaller difference is not reported
SURE = 4.0  # standard errors
MATTERS = 0.01  # of a step
STABLE = 0.9  # of the blocks
ENOUGH, LEAST = 1 / 2, 1 / 4  # of the median excess, in a block
VARIES = 2.0  # standard deviations of a block
FEWEST_STEPS = 16  # with fewer, a rank must be the slowest in each block
CHANCE = 0.01  # that one of ranks that are alike is so
FEWEST_RANKS = 3  # of few steps: of two, either could be the slow one
Excesses = Mapping[RankId, Sequence[float]]  # of each rank in groups of blocks
HALVES = (" in the first half", " in the second half")


class Straggler(Struct, frozen=True):
    """A slow rank, with the slowest part of its step; times in ms are those while it is slow."""

    rank: RankSummary
    part: str
    typical: float  # local time of those that are not slow
    when: str  # empty if all the time, else one of ``HALVES``

    @property
    def slower(self) -> float:
        return self.rank.local_ms / self.typical - 1


def all_stragglers(ranks: Sequence[RankSummary]) -> list[Straggler]:
    """Those that are slow all the time, the slowest first, and then those that are in a half."""
    slow, typical = stragglers(ranks)
    found = [Straggler(rank, slowest_part(rank, ranks), typical, "") for rank in slow]
    known = {rank.id for rank in slow}
    for half, when in enumerate(HALVES):
        those = [in_half(rank, half) for rank in ranks if rank.blocks and rank.id not in known]
        late, typical = stragglers(those, always=True) if len(those) >= FEWEST_RANKS else ([], NAN)
        for rank in late:
            found.append(Straggler(rank, slowest_part(rank, those), typical, when))
    return found


def stragglers(
    ranks: Sequence[RankSummary], *, always: bool = False
) -> tuple[list[RankSummary], float]:
    """The slow ranks, the slowest first, and the median local time of the others in ms.

    With ``always`` they are the slowest in each block, which they also are where steps are few.
    """
    known = [rank for rank in ranks if rank.blocks]
    least = fewest_steps(known)
    blocks = {rank.id: rank.blocks for rank in known if rank.steps >= least}
    is_short = any(rank.steps < FEWEST_STEPS for rank in known)
    slow = slower_places(blocks, always=always or is_short)
    step = median(rank.median for rank in known)
    typical = median(rank.local_ms for rank in known if rank.id not in slow)
    late = [rank for rank in known if rank.id in slow]
    late = [rank for rank in late if not rank.local_ms - typical <= MATTERS * step]
    return sorted(late, key=lambda rank: -rank.local_ms), typical


def can_be_judged(ranks: Sequence[RankSummary]) -> bool:
    known = [rank for rank in ranks if rank.blocks]
    return len(known) > 1 and min(rank.steps for rank in known) >= fewest_steps(known)


def fewest_steps(ranks: Sequence[RankSummary]) -> int:
    return FEWEST_BLOCKS if len(ranks) >= FEWEST_RANKS else FEWEST_STEPS


def slower_places(blocks: Mapping[RankId, LaunchBlocks], *, always: bool = False) -> set[RankId]:
    """The ranks or devices that are slower than the others all the time (see the module).

    Args:
        always: whether they must be the slowest in each block, since there are few steps.
    """
    excesses = _excesses(blocks)
    slow: set[RankId] = set()
    for of_ranks in excesses.values():
        found = _standing_out(of_ranks)
        if not always or _always_slowest(of_ranks, found):
            slow |= found
    return {id for id in slow if median(excesses[WHOLE][id]) > SLOW}


def _excesses(blocks: Mapping[RankId, LaunchBlocks]) -> Mapping[str, Excesses]:
    """The excesses as a whole and in each part."""
    excesses: dict[str, dict[RankId, list[float]]] = defaultdict(lambda: defaultdict(list))
    launches = dict.fromkeys(chain.from_iterable(blocks.values()))
    share = math.ceil(BLOCKS / max(len(launches), 1))  # of all blocks, for each launch
    for key in launches:
        together = {
            id: of_launches[key] for id, of_launches in blocks.items() if key in of_launches
        }
        # of devices, which go at their own pace, some may have fewer blocks
        count = min(len(each[WHOLE]) for each in together.values())
        parts = set.intersection(*map(set, together.values()))
        times = {
            part: np.array([each[part][:count] for each in together.values()]) for part in parts
        }
        if len(together) < 2 or not (times[WHOLE] > 0).all():
            continue
        for part in parts:
            excess = (times[part] - _reference(times[part])) / _reference(times[WHOLE])
            groups = np.array_split(excess, min(count, share), axis=1)
            levels = np.stack([np.median(group, axis=1) for group in groups], axis=1)
            for id, found in zip(together, levels.tolist(), strict=True):
                excesses[part][id] += found
    return excesses


def _reference(times: Floats) -> Floats:
    """What each rank is compared with in each block; shape (ranks, blocks), or one row for all."""
    if len(times) == 2:
        return times[::-1]
    return np.quantile(times, 0.5, axis=0, method="lower")


def _standing_out(excesses: Excesses) -> set[RankId]:
    typical = {id: median(found) for id, found in excesses.items()}
    enough = SLOW
    if len(typical) > 2:
        faster = sorted(typical.values())[: len(typical) // 2 + 1]
        enough = max(SLOW, FAR * robust_std(faster, faster[(len(typical) - 1) // 2]))
    return {id for id, excess in typical.items() if excess > enough and _is_steady(excesses[id])}


def _always_slowest(excesses: Excesses, slow: Set[RankId]) -> bool:
    late = np.array([found for id, found in excesses.items() if id in slow])
    others = np.array([found for id, found in excesses.items() if id not in slow])
    if not len(late) or not len(others) or not (late.min(axis=0) > others.max(axis=0)).all():
        return False
    alike = max(_alike(each - np.median(each)) for each in late)
    worth = late.shape[1] * (1 - alike) / (1 + alike)
    chance: float = math.comb(len(excesses), len(slow)) ** (1 - worth)
    return chance <= CHANCE


def _alike(deviations: Floats) -> float:
    """How alike neighbouring blocks are: the correlation of their signs, from 0 to 0.95."""
    signs = np.copysign(1.0, deviations)
    return min(max(float((signs[1:] * signs[:-1]).mean()), 0.0), 0.95)


def _is_steady(excesses: Sequence[float]) -> bool:
    if len(excesses) < FEWEST_BLOCKS:
        return False
    found, level = np.array(excesses), median(excesses)
    enough = min(max(level - VARIES * neighbours_std(found), LEAST * level), ENOUGH * level)
    if (found > enough).sum() < STABLE * len(found):
        return False
    alike = _alike(found - level)
    error = MEDIAN_TO_MEAN * robust_std(excesses, level)
    error *= math.sqrt((1 + alike) / (1 - alike) / len(found))
    return level > SURE * error


def slowest_part(rank: RankSummary, ranks: Sequence[RankSummary]) -> str:
    """The part of a rank's local time that exceeds the median of all ranks the most."""
    others = [other for other in ranks if other is not rank]

    def excess(part: str) -> float:
        return rank.local[part] - median(other.local.get(part, 0.0) for other in others)

    return max(rank.local, key=excess)
