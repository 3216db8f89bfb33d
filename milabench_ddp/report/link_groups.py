"""Ends and groups of ends whose links are slow, and how clear that is.

Candidates are all groups that come first in orders of the ends by eigenvectors. The one that
explains most of the differences between links is judged, once its ends have moved to where their
links fit better; and the slowest end.
"""

import math
from collections.abc import Iterator

from msgspec import Struct

from ..numerics import Counts, Floats, Marks, np
from .statistics.values import robust_std

LEAST_NOISE = 1e-3  # of a logarithm: clocks are coarse
OF_MEDIAN = 1.2533  # the standard error of a median in those of a mean
OF_MAD = 0.37  # its efficiency: of so many values a standard deviation would be as sure
FEW = 30  # values whose standard deviation is the usual one: it needs fewer to be known
FEWEST_ENDS = 4  # of fewer none can be told from its links
EIGENVECTORS = 3
MOST_MOVES = 10


class SlowCandidate(Struct, frozen=True):
    """Links that may be slow for the same reason."""

    score: float  # natural logarithm of a likelihood ratio, less that of how many there are
    shape: str  # "link"; "end"; "within" a group, "across" to the others
    ends: tuple[int, ...]


def scored(below: Floats | float, error: float, freedom: float, count: float) -> Floats:
    """Scores of candidates that are ``below`` the others; of the logarithm of their number.

    Student's t becomes a normal deviate by D. L. Wallace's approximation ("Bounds on normal
    approximations to Student's and the chi-square distributions", Annals of Mathematical Statistics
    30, 1959); such a one is above z with the probability exp(-z^2 / 2) / 2 at most.
    """
    t = np.maximum(below, 0) / error
    return freedom / 2 * np.log1p(t**2 / freedom) - count


def noise_of(values: Floats, levels: int = 1) -> tuple[float, float]:
    """The standard deviation of values around as many levels, and its degrees of freedom."""
    if len(values) >= FEW:
        return robust_noise(values)
    freedom = max(len(values) - levels, 1.0)
    deviation = math.sqrt(float(((values - values.mean()) ** 2).sum()) / freedom)
    return max(deviation, LEAST_NOISE), freedom


def robust_noise(values: Floats) -> tuple[float, float]:
    """As of ``noise_of``, of which up to half of the values are no part."""
    deviation = robust_std(values, float(np.median(values)))
    return max(deviation, LEAST_NOISE), OF_MAD * len(values)


def slow_groups(both: Floats) -> Iterator[SlowCandidate]:
    """An end or a group with slow links to the others, and a group with slow ones inside.

    Args:
        both: logarithms of speeds around 0, symmetric, shape (N, N); NaN: not known.
    """
    if len(both) < FEWEST_ENDS:
        return
    medians = np.array([_level(own[np.isfinite(own)]) for own in both])
    yield from _judged(both, np.arange(len(both)) == np.argmin(medians), medians)
    group = _moved(both, _clearest(both))
    yield from _judged(both, group, medians)
    yield from _judged(both, ~group, medians)


def _clearest(both: Floats) -> Marks:
    """The group whose links, within it, to the others and among these, differ most."""
    count, known = len(both), np.isfinite(both)
    values = np.where(known, both, 0.0)
    noise, _ = robust_noise(both[np.triu(known)])
    sizes = np.arange(1, count - 1)
    counts = np.array([math.log(math.comb(count, size)) for size in sizes])
    best, found = -math.inf, np.zeros(count, bool)
    for order in _orders(values, known):
        sums, numbers = (_sums(each, order) for each in (values, known.astype(float)))
        explained = (sums**2 / np.maximum(numbers, 1)).sum(axis=0) / (2 * noise**2) - counts
        place = int(np.argmax(explained))
        if explained[place] > best:
            best, found = explained[place], np.isin(np.arange(count), order[: sizes[place]])
    return found


def _sums(values: Floats, order: Counts) -> Floats:
    """Over the links within a group, from it to the others, and among these.

    Returns:
        for the groups of the first ends of an order, shape (3, groups).
    """
    ordered = values[np.ix_(order, order)]
    inner = np.cumsum(np.tril(ordered).sum(axis=1))[:-2]
    across = np.cumsum(ordered.sum(axis=1))[:-2] - 2 * inner
    return np.array([inner, across, values.sum() / 2 - inner - across])


def _sides(both: Floats, members: Marks) -> list[Floats]:
    """The links within a group, from it to the others, and among these."""
    ends_inside = members[:, None].astype(int) + members
    return [both[np.triu(np.isfinite(both)) & (ends_inside == ends)] for ends in (2, 1, 0)]


def _judged(both: Floats, members: Marks, medians: Floats) -> Iterator[SlowCandidate]:
    """By how much the links of a group are below all others, in its errors.

    It is not where the three kinds of links are not as the shape says: both sides of a slow border
    are faster than it. Healthy ends differ. Links within a group count by how much they are below
    what their ends explain, since ends that are slow are so to all.
    """
    sides = _sides(both, members)
    count, size = len(both), int(members.sum())
    (n_a, n_b, n_c), (a, b, c) = map(len, sides), map(_level, sides)
    if not (n_b and n_c):
        return
    left = np.concatenate([part - _level(part) for part in sides])
    noise, freedom = noise_of(left, levels=2 + (n_a > 0))
    ends = tuple(map(int, np.flatnonzero(members)))
    number = math.log(count * (math.comb(count, size) if size > 1 else 1))
    below = (a * n_a + c * n_c) / (n_a + n_c) - b
    error = OF_MEDIAN * noise * math.sqrt(1 / n_b + 1 / (n_a + n_c))
    fastest = min(a, c) if n_a else c
    if size == 1:
        error = max(error, robust_std(medians, float(np.median(medians))))
    if fastest - b > below / 2 and (2 * size, not members[0]) <= (count, False):
        score = float(scored(below, error, freedom, number))
        yield SlowCandidate(score, "across" if size > 1 else "end", ends)
    if n_a > 1:  # else it is a link
        below = min(2 * b - c - a, min(b, c) - a)
        error = OF_MEDIAN * noise * math.sqrt(4 / n_b + 1 / n_a + 1 / n_c)
        yield SlowCandidate(float(scored(below, error, freedom, number)), "within", ends)


def _level(part: Floats) -> float:
    return float(np.median(part)) if len(part) else 0.0


def _orders(values: Floats, known: Marks) -> Iterator[Counts]:
    """Orders of the ends in which slow groups come first."""
    means = values.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    without_ends = np.where(known, values - means[:, None] - means, 0.0)
    for matrix in (values, without_ends):
        levels, vectors = np.linalg.eigh(matrix)
        for place in np.argsort(-np.abs(levels))[:EIGENVECTORS]:
            order = np.argsort(vectors[:, place], kind="stable")
            yield from (order, order[::-1])


def _moved(both: Floats, members: Marks) -> Marks:
    """The group, once each end is on the side that its links fit better."""
    for _ in range(MOST_MOVES):
        levels = map(_level, _sides(both, members))
        inside = members.astype(float)
        fit_a, fit_b, fit_c = (np.nan_to_num((both - level) ** 2) for level in levels)
        moved = fit_a @ inside + fit_b @ (1 - inside) < fit_b @ inside + fit_c @ (1 - inside)
        if not 2 <= moved.sum() <= len(members) - 2:
            break
        members = moved
    return members
