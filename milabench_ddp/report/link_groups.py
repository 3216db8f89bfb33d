"""Groups of ends whose links are slow, and how clear that is.

Candidates are all groups that come first in some orders of the ends: by how slow their links to one
end are, and by eigenvectors. The clearest of each shape is kept, once its ends have moved to where
their links fit better.
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
FEWEST_ENDS = 6
BATCH = 2**20  # numbers
MOST_SEEDS = 64  # ends from whose links groups are searched
EIGENVECTORS = 3
MOST_MOVES = 10


class SlowCandidate(Struct, frozen=True):
    """Links that may be slow for the same reason."""

    score: float  # natural logarithm of a likelihood ratio, less that of how many there are
    shape: str  # "link"; "end"; "ends"; "within" a group, "across" to the others
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
    if len(values) < FEW:
        freedom = max(len(values) - levels, 1.0)
        deviation = math.sqrt(float(((values - values.mean()) ** 2).sum()) / freedom)
    else:
        freedom = OF_MAD * len(values)
        deviation = robust_std(values, float(np.median(values)))
    return max(deviation, LEAST_NOISE), freedom


def slow_groups(both: Floats) -> Iterator[SlowCandidate]:
    """The clearest slow ends, and groups with slow links to the others, or among themselves.

    Args:
        both: logarithms of speeds around 0, symmetric, shape (N, N); NaN: not known.
    """
    count = len(both)
    if count < FEWEST_ENDS:
        return
    known = np.isfinite(both)
    values = np.where(known, both, 0.0)
    pairs = both[np.triu(known)]
    noise = max(robust_std(pairs, float(np.median(pairs))), LEAST_NOISE)
    medians = np.nanmedian(both[known.any(axis=1)], axis=1)
    spread = robust_std(medians, float(np.median(medians)))
    sizes = np.arange(2, count - 1)
    counts = np.array([math.log(math.comb(count, size)) for size in sizes]) + math.log(count)
    orders = np.array(list(_orders(values, known)))
    best: dict[str, tuple[float, Marks]] = {}
    step = max(1, BATCH // count**2)
    for first in range(0, len(orders), step):
        batch = orders[first : first + step]
        of_batch = _sums(values, known, batch, sizes)
        for shape, (below, error) in _contrasts(of_batch, noise, spread, sizes).items():
            scores = scored(below, error, OF_MAD * len(pairs), counts)
            row, place = np.unravel_index(np.argmax(scores), scores.shape)
            if scores[row, place] > best.get(shape, (0.0,))[0]:
                members = np.isin(np.arange(count), batch[row][: sizes[place]])
                best[shape] = float(scores[row, place]), members
    for shape, (_, members) in best.items():
        members = _moved(shape, values, known, members)
        size = np.array([members.sum()])
        of_group, left = medians_of(both, members)
        noise, freedom = min(noise_of(pairs), noise_of(left, levels=3))
        below, error = _contrasts(of_group, OF_MEDIAN * noise, spread, size)[shape]
        score = float(scored(below, error, freedom, counts[size - 2])[0])
        if shape == "across" and (2 * size[0], not members[0]) > (count, False):
            members = ~members  # the smaller side; of equal ones that of the first end
        if shape != "within" or size[0] > 2:  # of two it is a link
            yield SlowCandidate(score, shape, tuple(map(int, np.flatnonzero(members))))


Sums = tuple[Floats, Floats]  # means of links, and how many they are; shape (orders, sizes)


def _sums(values: Floats, known: Marks, orders: Counts, sizes: Counts) -> tuple[Sums, Sums, Sums]:
    """Links within the first so many ends of orders, from these to the others, among the others."""
    found = []
    for each in (values, known.astype(float)):
        ordered = each[orders[:, :, None], orders[:, None, :]]
        inner = np.cumsum(np.tril(ordered).sum(axis=2), axis=1)[:, sizes - 1]
        across = np.cumsum(ordered.sum(axis=2), axis=1)[:, sizes - 1] - 2 * inner
        found.append((inner, across, each.sum() / 2 - inner - across))
    parts = [(total / np.maximum(count, 1), count) for total, count in zip(*found, strict=True)]
    return parts[0], parts[1], parts[2]


def _contrasts(
    sums: tuple[Sums, Sums, Sums], noise: float, spread: float, sizes: Counts
) -> dict[str, tuple[Floats, Floats]]:
    """By how much the links of a group are below all others, and the error of that.

    It is 0 where the three kinds of links are not as the shape says: both sides of a slow border
    are faster than it, ends are slow toward all. Links within a group count by how much they are
    below what their ends explain, since ends that are slow are so to all.
    """
    (a, n_a), (b, n_b), (c, n_c) = sums
    with np.errstate(divide="ignore", invalid="ignore"):
        of_sides = (a * n_a + c * n_c) / (n_a + n_c) - b
        of_ends = c - (a * n_a + b * n_b) / (n_a + n_b)
        border = noise * np.sqrt(1 / n_b + 1 / (n_a + n_c))
        ends = noise * np.sqrt(1 / n_c + 1 / (n_a + n_b))
        within = noise * np.sqrt(4 / n_b + 1 / n_a + 1 / n_c)
    return {
        "across": (np.where(np.minimum(a, c) - b > of_sides / 2, of_sides, 0.0), border),
        "ends": (
            np.where(c - np.maximum(a, b) > of_ends / 2, of_ends, 0.0),
            np.hypot(ends, spread / np.sqrt(sizes)),
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


def _moved(shape: str, values: Floats, known: Marks, members: Marks) -> Marks:
    """The group, once each end is on the side that its links fit better."""
    for _ in range(MOST_MOVES):
        order = np.argsort(~members, kind="stable")[None]
        sums = _sums(values, known, order, np.array([members.sum()]))
        (a, n_a), (b, n_b), (c, _) = ((float(mean[0, 0]), float(n[0, 0])) for mean, n in sums)
        if shape == "ends":
            a = b = float(np.average([a, b], weights=[n_a, n_b]))
        inside = members.astype(float)
        fit_a, fit_b, fit_c = (np.where(known, (values - mean) ** 2, 0.0) for mean in (a, b, c))
        moved = fit_a @ inside + fit_b @ (1 - inside) < fit_b @ inside + fit_c @ (1 - inside)
        if not 2 <= moved.sum() <= len(members) - 2:
            break
        is_same = bool((moved == members).all())
        members = moved
        if is_same:
            break
    return members


def medians_of(both: Floats, members: Marks) -> tuple[tuple[Sums, Sums, Sums], Floats]:
    """As of ``_sums`` for one group, by medians; and what is left of the links beside these."""
    known = np.triu(np.isfinite(both))
    sides = members[:, None].astype(int) + members[None, :]
    found, left = [], []
    for side in (2, 1, 0):
        part = both[known & (sides == side)]
        middle = np.median(part) if len(part) else 0.0
        found.append((np.array([middle]), np.array([len(part)])))
        left.append(part - middle)
    return (found[0], found[1], found[2]), np.concatenate(left)
