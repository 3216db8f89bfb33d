"""Ends and groups of ends whose links are slow, and how clear that is.

Candidates are all groups that come first in some orders of the ends: by how slow their links to one
end are, and by eigenvectors; an end is a group of one. The clearest of each shape is kept, once its
ends have moved to where their links fit better.
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
MOST_SEEDS = 64  # ends from whose links groups are searched
EIGENVECTORS = 3
MOST_MOVES = 10


class SlowCandidate(Struct, frozen=True):
    """Links that may be slow for the same reason."""

    score: float  # natural logarithm of a likelihood ratio, less that of how many there are
    shape: str  # "link"; "end"; "within" a group, "across" to the others
    ends: tuple[int, ...]


def scored(below: Floats, error: Floats | float, freedom: float, count: Floats | float) -> Floats:
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
    """The clearest ends or group with slow links to the others, and group with slow ones inside.

    Args:
        both: logarithms of speeds around 0, symmetric, shape (N, N); NaN: not known.
    """
    count = len(both)
    if count < FEWEST_ENDS:
        return
    known = np.isfinite(both)
    values = np.where(known, both, 0.0)
    noise, freedom = robust_noise(both[np.triu(known)])
    medians = np.nanmedian(both[known.any(axis=1)], axis=1)
    spread = robust_std(medians, float(np.median(medians)))
    sizes = np.arange(1, count - 1)
    counts = np.array([math.log(math.comb(count, size)) for size in sizes]) + math.log(count)
    counts[0] = math.log(count)  # ends have one size
    best: dict[str, tuple[float, Marks]] = {}
    for order in _orders(values, known):
        sides = _sums(values, known, order)
        for shape, (below, error) in _contrasts(sides, noise, spread, sizes).items():
            scores = scored(below, error, freedom, counts)
            place = int(np.argmax(scores))
            shape = "end" if place == 0 else shape
            if scores[place] > best.get(shape, (-np.inf,))[0]:
                members = np.isin(np.arange(count), order[: sizes[place]])
                best[shape] = float(scores[place]), members
    for shape, (_, members) in best.items():
        if shape != "end":  # several may be slow in their own ways
            members = _moved(both, members)
        sides, left = _medians(both, members)
        own_noise, own_freedom = noise_of(left, levels=int(np.count_nonzero(sides[1])))
        size = members.sum(keepdims=True)
        contrasts = _contrasts(sides, OF_MEDIAN * own_noise, spread, size)
        below, error = contrasts["across" if shape == "end" else shape]
        score = float(scored(below, error, own_freedom, counts[size - 1])[0])
        if shape == "across" and (2 * size[0], not members[0]) > (count, False):
            members = ~members  # the smaller side; of equal ones that of the first end
        ends = tuple(map(int, np.flatnonzero(members)))
        if shape != "within" or len(ends) > 2:  # of two it is a link
            yield SlowCandidate(score, shape, ends)


# Levels of the links within a group, from it to the others, and among these; and how many they are
Sides = tuple[Floats, Floats]  # each of shape (3, groups)


def _sums(values: Floats, known: Marks, order: Counts) -> Sides:
    """The means, for the groups of the first ends of an order."""
    found = []
    for each in (values, known.astype(float)):
        ordered = each[np.ix_(order, order)]
        inner = np.cumsum(np.tril(ordered).sum(axis=1))[:-2]
        across = np.cumsum(ordered.sum(axis=1))[:-2] - 2 * inner
        found.append(np.array([inner, across, each.sum() / 2 - inner - across]))
    return found[0] / np.maximum(found[1], 1), found[1]


def _medians(both: Floats, members: Marks) -> tuple[Sides, Floats]:
    """The medians, for one group; and what is left of the links beside these."""
    sides = members[:, None].astype(int) + members[None, :]
    parts = [both[np.triu(np.isfinite(both)) & (sides == side)] for side in (2, 1, 0)]
    levels = [float(np.median(part)) if len(part) else 0.0 for part in parts]
    left = [part - level for part, level in zip(parts, levels, strict=True)]
    counts = np.array([[len(part)] for part in parts])
    return (np.array(levels)[:, None], counts), np.concatenate(left)


def _contrasts(
    sides: Sides, noise: float, spread: float, sizes: Counts
) -> dict[str, tuple[Floats, Floats]]:
    """By how much the links of a group are below all others, and the error of that.

    It is 0 where the three kinds of links are not as the shape says: both sides of a slow border
    are faster than it. Healthy ends differ. Links within a group count by how much they are below
    what their ends explain, since ends that are slow are so to all.
    """
    (a, b, c), (n_a, n_b, n_c) = sides
    with np.errstate(divide="ignore", invalid="ignore"):
        below = (a * n_a + c * n_c) / (n_a + n_c) - b
        border = noise * np.sqrt(1 / n_b + 1 / (n_a + n_c))
        within = noise * np.sqrt(4 / n_b + 1 / n_a + 1 / n_c)
    fastest = np.where(n_a > 0, np.minimum(a, c), c)
    return {
        "across": (
            np.where(fastest - b > below / 2, below, 0.0),
            np.maximum(border, np.where(sizes == 1, spread, 0.0)),
        ),
        "within": (np.minimum(2 * b - c - a, np.minimum(b, c) - a), within),
    }


def _orders(values: Floats, known: Marks) -> Iterator[Counts]:
    """Orders of the ends in which slow groups come first."""
    for end in np.argsort(-np.abs(values).sum(axis=1))[:MOST_SEEDS]:
        toward = values[end].copy()
        for sign in (1, -1):  # the slowest first, or the fastest
            toward[end] = -sign * np.inf
            yield np.argsort(sign * toward, kind="stable")
    means = values.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    yield np.argsort(means, kind="stable")
    without_ends = np.where(known, values - means[:, None] - means[None, :], 0.0)
    for matrix in (values, without_ends):
        levels, vectors = np.linalg.eigh(matrix)
        for place in np.argsort(-np.abs(levels))[:EIGENVECTORS]:
            order = np.argsort(vectors[:, place], kind="stable")
            yield from (order, order[::-1])


def _moved(both: Floats, members: Marks) -> Marks:
    """The group, once each end is on the side that its links fit better."""
    for _ in range(MOST_MOVES):
        (levels, _), _ = _medians(both, members)
        inside = members.astype(float)
        fit_a, fit_b, fit_c = (np.nan_to_num((both - level) ** 2) for level in levels)
        moved = fit_a @ inside + fit_b @ (1 - inside) < fit_b @ inside + fit_c @ (1 - inside)
        if not 2 <= moved.sum() <= len(members) - 2:
            break
        members = moved
    return members
