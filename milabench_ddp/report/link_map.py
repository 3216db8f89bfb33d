"""What is slow among all links between N ends (ranks, or nodes): a link, an end, or a group.

The logarithm of a speed is a level, less what a slow part takes from all of its links, plus noise.
Parts are found one after the other, by a scan: each possible part has a statistic, how many
standard errors its links are below the others. Of those beyond their bound that one is taken which
is the clearest for so many of its kind (a likelihood ratio, less the logarithm of the number of
candidates; J. Rissanen, "Modeling by shortest data description", Automatica 14, 1978). Its links
tell nothing of other parts.

The bound is such that a map without a slow part has one in 1 % of all cases at most, over all
candidates together (Bonferroni): there are N (N - 1) links, N ends, and binomial(N, m) groups of m.
The noise is a median absolute deviation, so that slow parts are not in it.
"""

import math
from collections.abc import Iterator

from msgspec import Struct

from ..numerics import Floats, Marks, np
from .link_groups import SlowCandidate, noise_of, robust_noise, scored, slow_groups
from .statistics.values import median

LEVEL = 0.01  # how often any part is named in a map without one
SMALLEST = 0.05  # below the others, as a fraction: as far apart are healthy devices
SHAPES = 4  # of parts, which share the level
FEWEST_LINKS = 3  # of fewer none is slower than the others


class SlowPart(Struct, frozen=True):
    """Links that are slow for the same reason."""

    shape: str  # "link"; "end"; "within" a group, "across" to the others
    ends: tuple[int, ...]  # the sender and the receiver, the end, or the group
    way: str  # what is slow there: "sends", "receives", or empty: both
    links: Marks  # the slow ways, shape (N, N); of a link the slower one


def slow_parts(speeds: Floats, level: float = LEVEL) -> Iterator[SlowPart]:
    """The slow parts of a map, the clearest first.

    Args:
        speeds: from each end (row) to each other (column), shape (N, N), above 0; NaN: not known.
        level: the probability that a map without a slow part has one.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(speeds > 0, np.log(speeds), np.nan)
    np.fill_diagonal(logs, np.nan)
    bound = math.log(SHAPES / level)
    while np.isfinite(logs).any():
        ways = logs - np.nanmedian(logs)
        known = np.where(np.isnan(ways), ways.T, ways)
        both = (known + known.T) / 2
        clear = [each for each in slow_groups(both) if each.score > bound]
        if clear:  # what many links share comes first
            clear = [max(clear, key=lambda each: each.score)]
        else:
            clear = [each for each in _slow_links(ways, both) if each.score > bound]
        for each in clear:
            yield from _explained(each, logs)
        if not clear:
            break


def _slow_links(ways: Floats, both: Floats) -> Iterator[SlowCandidate]:
    """Links of which one way is slow, or both are; first the end that sends the slower one."""
    known = np.isfinite(ways)
    count = math.log(3 * known.sum())  # ways and pairs, and two kinds of noise
    scores = np.zeros_like(ways)
    for links, counted, of_pair in ((ways, known, 2), (both, np.triu(np.isfinite(both)), 1)):
        values = links[counted]
        if len(values) < FEWEST_LINKS:
            continue
        below = np.median(values) - links
        # Noise is all but the slowest pair, or what most have
        others = values[np.argsort(np.fmin(links, links.T)[counted])][of_pair:]
        for noise, freedom in (noise_of(others), robust_noise(values)):
            scores = np.fmax(scores, scored(below, noise, freedom, count))
    scores = np.fmax(scores, scores.T)
    is_first = ~(ways > ways.T) & known
    for i, j in np.argwhere(is_first & (scores > 0)):
        if i < j or not is_first[j, i]:
            yield SlowCandidate(float(scores[i, j]), "link", (int(i), int(j)))


def _explained(slow: SlowCandidate, logs: Floats) -> Iterator[SlowPart]:
    """The part of a candidate, whose links are not known in ``logs`` from then on."""
    inside = np.isin(np.arange(len(logs)), slow.ends)
    there = np.outer(inside, inside if slow.shape == "within" else ~inside)
    if slow.shape == "link":
        there = np.zeros_like(logs, bool)
        there[slow.ends] = True
    own = [logs[ways] for ways in (there, there.T)]
    logs[there | there.T] = np.nan
    if not np.isfinite(logs).any():
        return
    level = float(np.nanmedian(logs))
    sends, receives = (median(ways) - level <= math.log(1 - SMALLEST) for ways in own)
    if sends or receives:  # else it is not worth a word
        way = "" if sends == receives else "sends" if sends else "receives"
        links = (there & sends) | (there.T & receives)
        yield SlowPart(slow.shape, slow.ends, way, there if slow.shape == "link" else links)
