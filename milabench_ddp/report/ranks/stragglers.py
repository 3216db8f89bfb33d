"""Stragglers: devices and ranks that are slower than the others, by more than chance, all the time.

A device that runs a program alone is compared by the time of a unit of work. A rank that trains
with others is compared by its local time (see ``ranks``), which contains no wait for them.

Foreign load comes and goes, and a rank that it hits is not slow. So the steady state of each launch
is cut into 8 to 20 blocks of consecutive steps, and the time of a block is the lower quartile of
its steps, which load of a part of them does not touch; of waits for data, which a loader bunches,
it is the mean. In each block, the excess of a rank is its time over that of the reference, less 1.
The reference is the median of all ranks, of an even number the lower of the two in the middle,
since load only makes longer. Two ranks have no median that tells them apart: there it is the other
rank, and the finding names both. A rank is a straggler if

* the median of its excesses is more than 3 %, and more than 1 % of the step, since the job loses at
  most the time by which the rank is late;
* this median is more than 4 standard errors. The error is that of the median of an autoregressive
  series of order 1, because neighbouring blocks are alike;
* the rank is slow all the time: in 9 of 10 blocks its excess is more than half of the median;
* the rank stands out: of more than two, its median excess is more than 5 robust standard deviations
  of those of all ranks (1.4826 times the median absolute deviation).

None is named with fewer than 16 steps. If the programs tell only means and deviations over all
steps, a straggler is one of three ranks or more whose excess is also 3 deviations of its own steps.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ..statistics.values import FAR, NAN, mean, median, robust_std
from .rank_launch import FEWEST_BLOCKS, LaunchKey
from .rank_summary import RankId, RankSummary

MEDIAN_TO_MEAN = 1.2533  # standard errors of a median and of a mean, of a normal distribution
SLOW = 0.03  # a smaller difference is not reported
SURE = 4.0  # standard errors
MATTERS = 0.01  # of a step
STABLE = 0.9  # of the blocks
REGULAR = 3.0  # deviations of a rank's own steps
FEWEST_STEPS = 16
FEWEST_RANKS = 3  # of which only means are known: of two, either could be the slow one

Blocks = Mapping[LaunchKey, Sequence[float]]  # times of consecutive blocks of steps, by launch


def stragglers(ranks: Sequence[RankSummary]) -> tuple[list[RankSummary], float]:
    """The slow ranks, the slowest first, and the median local time of the others in ms."""
    known = [rank for rank in ranks if rank.local]
    if all(rank.blocks for rank in known):
        blocks = {rank.id: rank.blocks for rank in known if rank.steps >= FEWEST_STEPS}
        slow = slower_places(blocks)
    else:
        slow = _by_means(known)
    step = median(rank.median for rank in known)
    typical = median(rank.local_ms for rank in known if rank.id not in slow)
    odd = []
    for rank in known:
        late = rank.local_ms - typical
        if rank.id in slow and not late <= MATTERS * step:
            odd.append(rank)
    odd.sort(key=lambda rank: -rank.local_ms)
    return odd, typical if known else NAN


def can_be_judged(ranks: Sequence[RankSummary]) -> bool:
    """Whether ``stragglers`` could name one of these ranks."""
    known = [rank for rank in ranks if rank.local]
    if all(rank.blocks for rank in known):
        return len(known) > 1 and min(rank.steps for rank in known) >= FEWEST_STEPS
    return len(known) >= FEWEST_RANKS


def slower_places(blocks: Mapping[RankId, Blocks]) -> set[RankId]:
    """The ranks or devices that are slower than the others all the time (see the module)."""
    excesses = _excesses(blocks)
    typical = {id: median(found) for id, found in excesses.items()}
    level = median(typical.values())
    far = 0.0
    if len(typical) > 2:
        far = FAR * robust_std(typical.values(), level)
    slow: set[RankId] = set()
    for id, excess in typical.items():
        if excess > max(SLOW, far) and _is_steady(excess, excesses[id]):
            slow.add(id)
    return slow


def _excesses(blocks: Mapping[RankId, Blocks]) -> dict[RankId, list[float]]:
    """The excess of each rank in each block of each launch that it shares with another."""
    import numpy as np

    launches: dict[LaunchKey, dict[RankId, Sequence[float]]] = defaultdict(dict)
    for id, of_launches in blocks.items():
        for key, found in of_launches.items():
            launches[key][id] = found
    excesses: dict[RankId, list[float]] = defaultdict(list)
    for together in launches.values():
        # of devices, which go at their own pace, some may have fewer blocks
        count = min(map(len, together.values()))
        times = np.array([list(each[:count]) for each in together.values()])
        if len(times) < 2 or not (times > 0).all():
            continue
        reference = times[::-1]
        if len(times) > 2:
            reference = np.quantile(times, 0.5, axis=0, method="lower")
        for id, excess in zip(together, times / reference - 1, strict=True):
            excesses[id] += excess.tolist()
    return excesses


def _is_steady(excess: float, excesses: Sequence[float]) -> bool:
    """Whether a median excess is more than chance, and is there all the time."""
    if len(excesses) < FEWEST_BLOCKS:
        return False
    if sum(one > excess / 2 for one in excesses) < STABLE * len(excesses):
        return False
    signs = [math.copysign(1.0, one - excess) for one in excesses]
    alike = mean(one * following for one, following in pairwise(signs))
    alike = min(max(alike, 0.0), 0.95)
    error = MEDIAN_TO_MEAN * robust_std(excesses, excess)
    error *= math.sqrt((1 + alike) / (1 - alike) / len(excesses))
    return excess > SURE * error


def _by_means(ranks: Sequence[RankSummary]) -> set[RankId]:
    """The slow ranks of programs that tell only the means and deviations of their steps."""
    if len(ranks) < FEWEST_RANKS:
        return set()
    level = median(rank.local_ms for rank in ranks)
    far = max(SLOW * level, FAR * robust_std((rank.local_ms for rank in ranks), level))
    slow: set[RankId] = set()
    for rank in ranks:
        deviation = rank.local_error * math.sqrt(max(rank.steps, 1))
        enough = max(far, SURE * rank.local_error, REGULAR * deviation)
        if rank.local_ms - level > enough:
            slow.add(rank.id)
    return slow


def slowest_part(rank: RankSummary, ranks: Sequence[RankSummary]) -> str:
    """The part of a rank's local time that exceeds the median of all ranks the most."""

    def excess(part: str) -> float:
        others = [other for other in ranks if other is not rank]
        typical = median(other.local.get(part, 0.0) for other in others)
        return rank.local[part] - typical

    return max(rank.local, key=excess)
