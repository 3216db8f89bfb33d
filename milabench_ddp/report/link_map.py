"""What is slow among all links between N ends (ranks, or nodes): a link, an end, or a group.

The logarithm of a speed is a level, less what a slow part takes from all of its links, plus noise;
where parts overlap, the slowest counts, as the narrowest place of a path does. Parts are found one
after the other, by a scan: each possible part has a statistic, how many standard errors its links
are below the others. Of those beyond their bound that one is taken which is the clearest for so
many of its kind (a likelihood ratio, less the logarithm of the number of candidates; J. Rissanen,
"Modeling by shortest data description", Automatica 14, 1978).

The bound is such that a map without a slow part has one in 1 % of all cases at most, over all
candidates together (Bonferroni): there are N (N - 1) links, N ends, and binomial(N, m) groups of m.
The noise is a median absolute deviation, so that slow parts are not in it.
"""

import math
from collections.abc import Iterator

from msgspec import Struct

from ..numerics import Floats, Marks, np
from .link_groups import SlowCandidate, noise_of, robust_noise, scored, slow_groups
from .statistics.values import NAN

LEVEL = 0.01  # how often any part is named in a map without one
SMALLEST = 0.05  # below the others, as a fraction: as far apart are healthy devices
SHAPES = 4  # of parts, which share the level
FEWEST_LINKS = 3  # of fewer none is slower than the others


class SlowPart(Struct, frozen=True):
    """Links that are slow for the same reason."""

    shape: str  # "link"; "end"; "within" a group, "across" to the others
    ends: tuple[int, ...]  # the sender and the receiver, the end, or the group
    lower: float  # from these ends than on other links, as a fraction; NaN: not known
    lower_back: float  # to them
    chance: float  # at most that anything as clear is found where nothing is slow


class _Links(Struct, frozen=True):
    """What is left of the logarithms of speeds, around a level of 0."""

    ways: Floats  # each way by itself
    both: Floats  # the mean of both ways, symmetric

    @classmethod
    def of(cls, logs: Floats) -> "_Links":
        ways = logs - np.nanmedian(logs)
        other = ways.T
        means = np.where(np.isnan(other), ways, (ways + other) / 2)
        return cls(ways, np.where(np.isnan(ways), other, means))


def slow_parts(speeds: Floats, level: float = LEVEL) -> list[SlowPart]:
    """The slow parts of a map, the clearest first.

    Args:
        speeds: from each end (row) to each other (column), shape (N, N), above 0; NaN: not known.
            Where both ways are one number, it is in one of the two places.
        level: the probability that a map without a slow part has one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(speeds > 0, np.log(speeds), np.nan)
    np.fill_diagonal(logs, np.nan)
    bound = math.log(SHAPES / level)
    taken = np.zeros_like(logs)  # by the parts that are found
    found: list[SlowPart] = []
    for _ in range(2 * len(logs) if np.isfinite(logs).any() else 0):
        left = _Links.of(logs - taken)
        clear = [each for each in slow_groups(left.both) if each.score > bound]
        if clear:  # what many links share comes first
            chosen = [max(clear, key=lambda each: each.score)]
        else:
            chosen = [each for each in _links(left) if each.score > bound]
        before = taken.copy()
        for each in chosen:
            found += _explained(each, left.ways, taken)
        if np.array_equal(before, taken):
            break
    return sorted(found, key=lambda part: part.chance)


def _links(left: _Links) -> Iterator[SlowCandidate]:
    """Links of which one way is slow, or both are; of each the clearer one."""
    known, pairs = np.isfinite(left.ways), np.triu(np.isfinite(left.both))
    count = math.log(2 * (known.sum() + pairs.sum()))  # and two kinds of noise
    scores = np.full_like(left.ways, -np.inf)
    for links, counted in ((left.ways, known), (left.both, pairs)):
        values = np.sort(links[counted])
        if len(values) < FEWEST_LINKS:
            continue
        below = np.median(values) - links
        # Noise is all but the slowest one, or what most have
        for noise, freedom in (noise_of(values[1:]), robust_noise(values)):
            scores = np.fmax(scores, scored(below, noise, freedom, count))
    scores[~known] = -np.inf
    slower = np.where(np.isnan(left.ways.T), True, left.ways <= left.ways.T)
    for i, j in np.argwhere(slower & (scores > 0)):
        if not (left.ways[i, j] == left.ways[j, i] and i > j):
            yield SlowCandidate(float(max(scores[i, j], scores[j, i])), "link", (int(i), int(j)))


def _explained(slow: SlowCandidate, ways: Floats, taken: Floats) -> Iterator[SlowPart]:
    """The part of a candidate; what it takes from its links is put into ``taken``."""
    known = np.isfinite(ways)
    there = _links_of(slow, len(ways))
    others = known & ~(there | there.T)
    if not others.any():
        return
    level = float(np.median(ways[others]))
    before = taken.copy()
    lower, more = [], []
    for mask in (there, there.T):
        own = mask & known
        new = own & (before == 0)  # not of a part that was found before
        own = new if new.any() else own
        change = float(np.median(ways[own])) - level if own.any() else NAN
        more.append(change)
        change += float(np.median(before[own])) if own.any() else NAN
        lower.append(1 - math.exp(change))
        taken[mask] = np.fmin(taken[mask], change)
    if np.nanmin(more) <= math.log(1 - SMALLEST):  # else it is not worth a word
        chance = SHAPES * math.exp(-slow.score)
        yield SlowPart(slow.shape, slow.ends, lower[0], lower[1], chance)


def _links_of(found: SlowCandidate, count: int) -> Marks:
    inside = np.isin(np.arange(count), found.ends)
    if found.shape == "within":
        return np.outer(inside, inside)
    if found.shape == "link":
        inside = np.arange(count) == found.ends[0]
        return np.outer(inside, np.arange(count) == found.ends[1])
    return np.outer(inside, ~inside)
