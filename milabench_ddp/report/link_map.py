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
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..numerics import Floats, Marks, np
from .link_groups import (
    FEW,
    LEAST_NOISE,
    OF_MAD,
    OF_MEDIAN,
    SlowCandidate,
    medians_of,
    noise_of,
    scored,
    slow_groups,
)
from .statistics.values import NAN, largest, robust_std

LEVEL = 0.01  # how often any part is named in a map without one
SMALLEST = 0.05  # below the others, as a fraction: as far apart are healthy devices
SHAPES = 5  # of parts, which share the level
FEWEST_ENDS = 4  # of fewer none can be told from its links
FEWEST_ALIKE, ALIKE = 3, 0.1  # slow ends beside each other, as fractions, are a group


class SlowPart(Struct, frozen=True):
    """Links that are slow for the same reason."""

    shape: str  # "link"; "end"; "ends", beside each other and alike; "within", "across" a group
    ends: tuple[int, ...]  # the sender and the receiver, the end, or the group
    lower: float  # from these ends than on other links, as a fraction; NaN: not known
    lower_back: float  # to them
    chance: float  # at most that anything as clear is found where nothing is slow

    @property
    def lowest(self) -> float:
        return largest([self.lower, self.lower_back])


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
        several = [*_ends(left.both), *slow_groups(left.both)]
        chosen = _separate(max(several, key=_score)) if several else []
        if not chosen or chosen[0].score <= bound:  # what many links share comes first
            chosen = [each for each in _links(left) if each.score > bound]
        before = taken.copy()
        found += _explained(chosen, left.ways, taken) if chosen else []
        if np.array_equal(before, taken):
            break
    return _joined(found)


def _score(candidate: SlowCandidate) -> float:
    return candidate.score


def _links(left: _Links) -> Iterator[SlowCandidate]:
    """Links of which one way is slow, or both are; of each the clearer one."""
    known, pairs = np.isfinite(left.ways), np.triu(np.isfinite(left.both))
    count = math.log(2 * (known.sum() + pairs.sum()))  # and two kinds of noise
    scores = np.full_like(left.ways, -np.inf)
    for links, counted in ((left.ways, known), (left.both, pairs)):
        values = links[counted]
        below, size = np.median(values) - links, len(values)
        noise = max(robust_std(values, float(np.median(values))), LEAST_NOISE)
        scores = np.fmax(scores, scored(below, noise, OF_MAD * size, count))
        if 2 < size < FEW:  # that of all others, as F. E. Grubbs does
            own = (links - values.mean()) ** 2 * size / (size - 1)
            others = (values.var() * size - own) / (size - 2)
            others = np.sqrt(np.fmax(others, LEAST_NOISE**2))
            scores = np.fmax(scores, scored(below, others, size - 2, count))
    scores[~known] = -np.inf
    slower = np.where(np.isnan(left.ways.T), True, left.ways <= left.ways.T)
    for i, j in np.argwhere(slower & (scores > 0)):
        if not (left.ways[i, j] == left.ways[j, i] and i > j):
            yield SlowCandidate(float(max(scores[i, j], scores[j, i])), "link", (int(i), int(j)))


def _ends(both: Floats) -> Iterator[SlowCandidate]:
    """Ends whose median link is below that of the median end."""
    known = np.isfinite(both)
    ends = np.flatnonzero(known.sum(axis=1) > 1)
    if len(ends) < FEWEST_ENDS:
        return
    medians = np.nanmedian(both[ends], axis=1)
    slowest = np.arange(len(both)) == ends[np.argmin(medians)]
    noise, freedom = min(
        noise_of(both[np.triu(known)]), noise_of(medians_of(both, slowest)[1], levels=2)
    )
    middle = float(np.median(medians))
    spread = robust_std(medians, middle)
    error = np.maximum(OF_MEDIAN * noise / np.sqrt(known[ends].sum(axis=1)), spread)
    scores = scored(middle - medians, error, freedom, math.log(len(ends)))
    for end, score in zip(ends, scores, strict=True):
        yield SlowCandidate(float(score), "end", (int(end),))


def _separate(found: SlowCandidate) -> list[SlowCandidate]:
    """Slow ends that were found together: each may be slow in its own way."""
    if found.shape != "ends":
        return [found]
    return [SlowCandidate(found.score, "end", (end,)) for end in found.ends]


def _explained(chosen: Sequence[SlowCandidate], ways: Floats, taken: Floats) -> Iterator[SlowPart]:
    """The parts of candidates; what they take from their links is put into ``taken``."""
    known = np.isfinite(ways)
    masks = [_links_of(each, len(ways)) for each in chosen]
    others = known & ~np.any([mask | mask.T for mask in masks], axis=0)
    if not others.any():
        return
    level = float(np.median(ways[others]))
    before = taken.copy()
    for each, there in zip(chosen, masks, strict=True):
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
            chance = SHAPES * math.exp(-each.score)
            yield SlowPart(each.shape, each.ends, lower[0], lower[1], chance)


def _links_of(found: SlowCandidate, count: int) -> Marks:
    inside = np.isin(np.arange(count), found.ends)
    if found.shape == "within":
        return np.outer(inside, inside)
    if found.shape == "link":
        inside = np.arange(count) == found.ends[0]
        return np.outer(inside, np.arange(count) == found.ends[1])
    return np.outer(inside, ~inside)


def _joined(found: Sequence[SlowPart]) -> list[SlowPart]:
    """The parts; several slow ends beside each other that are alike are one."""
    single = sorted((each for each in found if each.shape == "end"), key=lambda each: each.ends)
    runs: list[list[SlowPart]] = []
    for each in single:
        last = runs[-1] if runs else []
        is_beside = bool(last) and last[-1].ends[0] + 1 == each.ends[0]
        if is_beside and abs(last[0].lowest - each.lowest) <= ALIKE:
            last.append(each)
        else:
            runs.append([each])
    joined = [each for each in found if each.shape != "end"]
    for run in runs:
        if len(run) < FEWEST_ALIKE:
            joined += run
            continue
        ends = tuple(each.ends[0] for each in run)
        lower = float(np.nanmedian([each.lower for each in run]))
        back = float(np.nanmedian([each.lower_back for each in run]))
        joined.append(SlowPart("ends", ends, lower, back, max(each.chance for each in run)))
    return sorted(joined, key=lambda each: each.chance)
