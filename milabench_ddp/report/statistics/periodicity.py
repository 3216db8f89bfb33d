"""Pauses in a series of step times, and those that recur.

A pause is longer than the level around it by more than chance makes a step (``is_far``), and than
its neighbours on both sides: load that lasts longer is not a pause. Several such steps in a row
are one pause.

Pauses recur if many of them have another one at the same distance behind them: more than would have
one by chance. Of N pauses each would, with the probability p, and a share of r > p of them does
with a probability of at most

    exp(-N D),   D = r ln(r / p) + (1 - r) ln((1 - r) / (1 - p))

(W. Hoeffding, JASA 58, 1963, theorem 1). This must be less than ``ALPHA`` over all distances,
tolerances and series that are tried. p is the density of pauses times the places that a tolerance
of w admits, 2 w + 1: the density in the whole series or, if it is more, that around each pause,
because load comes in bursts. For the same reason N counts pauses that are close together once. And
pauses must recur in most of a series.

Distances are compared, and no fixed rhythm: what pauses after a time of its own may be early or
late, and the next pause follows it. If those of no rank are enough, pauses of all ranks count
together, but those at the same step once: what disturbs all ranks is no more sure for that.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...numerics import Counts, Floats, Marks, np
from .values import is_far

BLOCK, FEWEST_BLOCKS = 64, 3  # steps that share a level, and blocks of a short series
BESIDE = 4  # neighbours on each side
ALPHA = 0.005  # the probability of a recurrence where there is none
MEMBER = 0.01  # the same of one more series that shares a recurrence which is there
WIDTHS = (0, 1, 2, 4)  # by how much distances may differ,
NARROW = 8  # and as a part of the distance
CLOSE = 4  # closer than this part of the distance, pauses count once
COVERS = 0.6  # the least share of a series in which pauses recur
FEWEST = 3  # distances
PARTS, AS_SURE = 5, 0.5  # a fifth of a distance, whose probability is this power of the other's
KINDS = 3  # different recurrences that are looked for


class Pauses(Struct, frozen=True):
    """The pauses of a series: the place of each in it, in ascending order."""

    at: Counts
    length: int  # places of the series

    @property
    def density(self) -> float:
        return len(self.at) / self.length


def pauses_of(times: Floats) -> Pauses:
    """The pauses of a series of at least one step, in the order of time."""
    excess, level = excess_of(times), float(np.median(times))
    steps = np.flatnonzero(is_far(excess, level) & (excess > 0))
    if len(steps):
        beside = np.array([k for k in range(-BESIDE, BESIDE + 1) if k])
        near = np.abs(steps[:, None] + beside)  # at the ends, those on the other side
        near = np.where(near < len(times), near, 2 * (len(times) - 1) - near)
        excess[steps] -= np.maximum(np.median(excess[near], axis=1), 0.0)
        steps = np.flatnonzero(is_far(excess, level) & (excess > 0))
    return Pauses(steps[np.diff(steps, prepend=-2) > 1], len(times))


def excess_of(times: Floats) -> Floats:
    """By how much each step is longer than the level around it.

    The level goes in lines between the medians of blocks of steps.
    """
    count = len(times)
    blocks = max(count // BLOCK, min(FEWEST_BLOCKS, count // 16), 1)
    size = count // blocks
    size -= size % 2 if size > 1 else 0  # of two levels in turn, the median is in the middle
    blocks = count // size
    medians = np.median(times[: blocks * size].reshape(blocks, size), axis=1)
    centres = size * np.arange(blocks) + (size - 1) / 2
    return times - np.interp(np.arange(count), centres, medians)


class Recurrence(Struct, frozen=True):
    """Pauses at equal distances."""

    period: float  # the median distance
    spread: float  # nine of ten distances differ from it by no more
    log_p: float  # the logarithm of the probability, of which ``ALPHA`` is the limit
    of: Mapping[int, Marks]  # which pauses recur, by the place of their series


class _Distance(Struct, frozen=True):
    """A distance at which pauses have another one, with its tolerance."""

    steps: int
    width: int
    log_p: float


def recurrences(series: Sequence[Pauses]) -> list[Recurrence]:
    """The recurrences among the pauses of some series, such as those of ranks; surest first."""
    found: list[Recurrence] = []
    left = list(series)
    while len(found) < KINDS:
        best = _surest([each for each in left if len(each.at) > 1])
        if best is None:
            break
        of, between = _members(left, best)
        if not of:
            break
        period = float(np.median(between))
        spread = float(np.quantile(np.abs(between - period), 0.9, method="higher"))
        kept = {k: np.isin(series[k].at, left[k].at[marks]) for k, marks in of.items()}
        found.append(Recurrence(period, spread, best.log_p, kept))
        for k, marks in of.items():
            left[k] = Pauses(left[k].at[~marks], left[k].length)
    return found


def _surest(series: Sequence[Pauses]) -> _Distance | None:
    """The distance that is least likely by chance: in one series or else in all; None if not."""
    if not series:
        return None
    distances = [each.length // FEWEST for each in series]
    longest = max(distances)
    limit = float(np.log(ALPHA / max(len(WIDTHS) * (sum(distances) + longest), 1)))
    alone = (_Pairs([each], longest) for each in series)
    together = (_Pairs(_apart(series), longest) for _ in range(1))
    for tried in (alone, together):
        found = [(one, pairs) for pairs in tried for one in pairs.unlikely(limit)]
        if found:
            best, pairs = min(found, key=lambda each: (each[0].log_p, each[0].steps))
            return pairs.fundamental(best)
    return None


def _apart(series: Sequence[Pauses]) -> list[Pauses]:
    """The pauses without those that another series has at the same step, or beside it."""
    taken = np.zeros(max(each.length for each in series) + 2, dtype=bool)
    found = []
    for each in series:
        at = each.at[~taken[each.at + 1]]
        taken[at[:, None] + np.arange(3)] = True
        found.append(Pauses(at, each.length))
    return found


class _Pairs:
    """How many pauses of some series have another one at each distance."""

    def __init__(self, series: Sequence[Pauses], longest: int) -> None:
        self._series = series
        pairs = np.zeros(longest + 1 + max(WIDTHS))
        self._tried = np.zeros(longest + 1)  # pauses that have so many places behind them
        self._by_chance = np.zeros(longest + 1)
        for each in series:
            farthest = each.length // FEWEST + 1 + max(WIDTHS)
            spectrum = np.fft.rfft(np.bincount(each.at), 1 << (each.length + farthest).bit_length())
            found = np.rint(np.fft.irfft(spectrum * spectrum.conj()))[:farthest]
            pairs[:farthest] += found
            tried = np.searchsorted(each.at, each.length - np.arange(each.length // FEWEST + 1))
            self._tried[: len(tried)] += tried
            self._by_chance[: len(tried)] += tried * each.density
        self._sums = np.concatenate([[0.0], np.cumsum(pairs)])

    def _within(self, steps: Counts, width: int) -> Floats:
        found: Floats = self._sums[steps + width + 1] - self._sums[steps - width]
        return found

    def unlikely(self, limit: float) -> list[_Distance]:
        """The surest distance with each tolerance, if its probability is below the limit."""
        found = []
        for width in WIDTHS:
            steps = np.arange(max(2, NARROW * width), len(self._tried))
            if not len(steps):
                break
            pairs = self._within(steps, width)
            chance = (2 * width + 1) * self._by_chance[steps]
            log_p = log_probability(pairs, self._tried[steps], chance)
            k = int(np.argmin(np.where(pairs >= FEWEST, log_p, 0.0)))
            if pairs[k] >= FEWEST and log_p[k] < limit:
                found.append(self._judged(int(steps[k]), width, limit))
        return [each for each in found if each is not None]

    def fundamental(self, distance: _Distance) -> _Distance:
        """The part of a distance at which pauses recur as surely, or the distance itself."""
        for parts in range(PARTS, 1, -1):
            near = round(distance.steps / parts)
            for steps in (near, near - 1, near + 1):
                if steps >= max(2, NARROW * distance.width):
                    found = self._judged(steps, distance.width, AS_SURE * distance.log_p)
                    if found is not None:
                        return found
        return distance

    def _judged(self, steps: int, width: int, limit: float) -> _Distance | None:
        """The distance with its probability, where pauses may be dense or close together.

        None if the probability is not below the limit, or chance explains half of the pairs.
        """
        pairs = self._within(np.array(steps), width)
        chance, apart, count = 0.0, 0.0, 0
        for each in self._series:
            at = each.at[each.at < each.length - steps]
            first, last = np.maximum(at - 2 * steps, 0), np.minimum(at + 2 * steps, each.length)
            near = np.searchsorted(each.at, last) - np.searchsorted(each.at, first) - 1
            density = np.maximum(near / (last - first), each.density)
            chance += float(density.sum()) * (2 * width + 1)
            apart += np.count_nonzero(np.diff(at, prepend=-steps) * CLOSE > steps)
            count += len(at)
        log_p = float(log_probability(pairs, self._tried[steps], np.array(chance)))
        sure = log_p * apart / max(count, 1)
        return _Distance(steps, width, sure) if sure < limit and pairs > 2 * chance else None


def log_probability(pairs: Floats, tried: Floats, by_chance: Floats) -> Floats:
    """The bound on the logarithm of the probability of so many pairs; see the module.

    Args:
        pairs: how many pauses have another one, of any shape
        tried: of so many
        by_chance: so many are expected to
    """
    tried = np.maximum(tried, 1.0)
    p = np.clip(by_chance / tried, 1e-12, 1 - 1e-12)
    r = np.clip(pairs / tried, p, 1 - 1e-15)
    return -tried * (r * np.log(r / p) + (1 - r) * np.log((1 - r) / (1 - p)))


def _members(series: Sequence[Pauses], found: _Distance) -> tuple[dict[int, Marks], Counts]:
    """Which pauses of each series recur, by its place, and their distances."""
    low, high = found.steps - found.width, found.steps + found.width
    of: dict[int, Marks] = {}
    between = [np.zeros(0, dtype=int)]
    for k, each in enumerate(series):
        at = each.at
        next_at = np.append(at, each.length + high)[np.searchsorted(at, at + low)]
        is_first = next_at - at <= high
        is_second = np.searchsorted(at, at - high) < np.searchsorted(at, at - low, "right")
        marks = is_first | is_second
        if marks.sum() * found.steps < COVERS * each.length or not is_first.any():
            continue
        tried = np.searchsorted(at, each.length - found.steps)
        chance = (2 * found.width + 1) * each.density * tried
        counts = np.array([is_first.sum(), tried, chance])
        if float(log_probability(*counts)) < np.log(MEMBER):
            of[k] = marks
            between.append((next_at - at)[is_first])
    return of, np.concatenate(between)
