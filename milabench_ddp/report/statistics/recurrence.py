"""Pauses that recur: many of them have another one at the same distance behind them.

They must be more than would have one by chance. Of N pauses each would, with the probability p, and
a share of r > p of them does with a probability of at most

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

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from ...numerics import Counts, Floats, Marks, np
from .pauses import Pauses

ALPHA = 0.005  # the probability of a recurrence where there is none
MEMBER = 0.01  # the same of one more series that shares a recurrence which is there
WIDTHS = (0, 1, 2, 4)  # by how much distances may differ,
NARROW = 8  # and as a part of the distance
CLOSE = 4  # closer than this part of the distance, pauses count once
COVERS = 0.6  # the least share of a series in which pauses recur
FEWEST = 3  # distances
FEW = 8  # pauses squared over places: fewer are compared one by one, as is faster
PARTS, AS_SURE = 5, 0.5  # a fifth of a distance, whose probability is this power of the other's
KINDS = 3  # different recurrences that are looked for


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
    log_p: float = 0.0

    @property
    def low(self) -> int:
        return self.steps - self.width

    @property
    def high(self) -> int:
        return self.steps + self.width


def recurrences(series: Sequence[Pauses]) -> list[Recurrence]:
    """The recurrences among the pauses of some series, such as those of ranks; surest first."""
    found: list[Recurrence] = []
    left = list(series)
    while len(found) < KINDS:
        best = _surest([each for each in left if len(each.at) > 1])
        of = {} if best is None else _members(left, best)
        if best is None or not of:
            break
        between = np.concatenate([_between(left[k].at[of[k]], best) for k in of])
        period = float(np.median(between))
        spread = float(np.quantile(np.abs(between - period), 0.9, method="higher"))
        kept = {k: np.isin(series[k].at, left[k].at[marks]) for k, marks in of.items()}
        found.append(Recurrence(period, spread, best.log_p, kept))
        for k, marks in of.items():
            left[k] = Pauses(left[k].at[~marks], left[k].length)
    return found


def _surest(series: Sequence[Pauses]) -> _Distance | None:
    """The distance that is least likely by chance: in one series or else in all; None if not."""
    longest = max((each.length for each in series), default=0) // FEWEST
    tests = len(WIDTHS) * (sum(each.length // FEWEST for each in series) + longest)
    limit = float(np.log(ALPHA / max(tests, 1)))
    best = _surest_of((_Pairs([each], longest) for each in series), limit)
    if best is None and len(series) > 1:
        best = _surest_of([_Pairs(_apart(series), longest)], limit)
    return best


def _surest_of(tried: Iterable["_Pairs"], limit: float) -> _Distance | None:
    best: tuple[_Distance, _Pairs] | None = None
    for pairs in tried:
        for one in pairs.unlikely(limit):
            if best is None or (one.log_p, one.steps) < (best[0].log_p, best[0].steps):
                best = one, pairs
    return None if best is None else best[1].fundamental(best[0])


def _apart(series: Sequence[Pauses]) -> list[Pauses]:
    taken = np.zeros(max(each.length for each in series) + 2, dtype=bool)
    found = []
    for each in series:
        at = each.at[~taken[each.at + 1]]
        for near in range(3):
            taken[at + near] = True
        found.append(Pauses(at, each.length))
    return found


class _Pairs:
    """How many pauses of some series have another one at each distance."""

    def __init__(self, series: Sequence[Pauses], longest: int) -> None:
        self._series = [each for each in series if len(each.at) > 1]
        self._pairs = np.zeros(longest + 1 + max(WIDTHS))
        self._tried = np.zeros(longest + 1)  # pauses that have so many places behind them
        self._by_chance = np.zeros(longest + 1)
        for each in self._series:
            self._count(each)
        self._sums = np.concatenate([[0.0], np.cumsum(self._pairs)])

    def _count(self, pauses: Pauses) -> None:
        at, length = pauses.at, pauses.length
        if len(at) ** 2 < FEW * length:
            pairs = np.bincount(np.abs(np.subtract.outer(at, at)).ravel(), minlength=length) / 2
        else:
            marks = np.zeros(length)
            marks[at] = 1
            spectrum = np.fft.rfft(marks, 1 << (length + length // FEWEST).bit_length())
            pairs = np.rint(np.fft.irfft(spectrum * spectrum.conj()))
        pairs = pairs[: min(length // FEWEST + 1 + max(WIDTHS), len(self._pairs))]
        self._pairs[: len(pairs)] += pairs
        usable = min(length // FEWEST + 1, len(self._tried))
        tried = np.searchsorted(at, length - np.arange(usable))
        self._tried[:usable] += tried
        self._by_chance[:usable] += tried * pauses.density

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
                found += self._judged(int(steps[k]), width, limit)
        return found

    def _within(self, steps: Counts, width: int) -> Floats:
        found: Floats = self._sums[steps + width + 1] - self._sums[steps - width]
        return found

    def fundamental(self, distance: _Distance) -> _Distance:
        """The part of a distance at which pauses recur as surely, or the distance itself."""
        for parts in range(PARTS, 1, -1):
            near = round(distance.steps / parts)
            limit = AS_SURE * distance.log_p
            for steps in (near, near - 1, near + 1):
                if steps >= max(2, NARROW * distance.width):
                    for found in self._judged(steps, distance.width, limit):
                        return found
        return distance

    def _judged(self, steps: int, width: int, limit: float) -> list[_Distance]:
        """The distance with its probability, where pauses may be dense or close together.

        None if the probability is not below the limit, or chance explains half of the pairs.
        """
        pairs = self._within(np.array([steps]), width)
        chance, apart, count = 0.0, 0.0, 0
        for each in self._series:
            at = each.at[each.at < each.length - steps]
            first, last = np.maximum(at - 2 * steps, 0), np.minimum(at + 2 * steps, each.length)
            near = np.searchsorted(each.at, last) - np.searchsorted(each.at, first) - 1
            density = np.maximum(near / (last - first), each.density)
            chance += float(density.sum()) * (2 * width + 1)
            apart += np.count_nonzero(np.diff(at, prepend=-steps) * CLOSE > steps)
            count += len(at)
        log_p = log_probability(pairs, self._tried[[steps]], np.array([chance]))
        sure = float(log_p[0]) * apart / max(count, 1)
        is_found = sure < limit and pairs[0] > 2 * chance
        return [_Distance(steps, width, sure)] if is_found else []


def log_probability(pairs: Floats, tried: Floats, by_chance: Floats) -> Floats:
    """The bound on the logarithm of the probability of so many pairs; see the module.

    Args:
        pairs: how many pauses have another one, shape (k,)
        tried: of so many
        by_chance: so many are expected to
    """
    tried = np.maximum(tried, 1.0)
    p = np.clip(by_chance / tried, 1e-12, 1 - 1e-12)
    r = np.clip(pairs / tried, p, 1 - 1e-15)
    found: Floats = -tried * (r * np.log(r / p) + (1 - r) * np.log((1 - r) / (1 - p)))
    return found


def _members(series: Sequence[Pauses], found: _Distance) -> dict[int, Marks]:
    of: dict[int, Marks] = {}
    for k, each in enumerate(series):
        is_first, is_second = _paired(each.at, found)
        marks = is_first | is_second
        if marks.sum() * found.steps < COVERS * each.length or not is_first.any():
            continue
        tried = float(np.searchsorted(each.at, each.length - found.steps))
        chance = (2 * found.width + 1) * each.density * tried
        values = [np.array([value]) for value in (float(is_first.sum()), tried, chance)]
        if float(log_probability(*values)[0]) < np.log(MEMBER):
            of[k] = marks
    return of


def _paired(at: Counts, found: _Distance) -> tuple[Marks, Marks]:
    behind = np.searchsorted(at, at + found.low) < np.searchsorted(at, at + found.high, "right")
    before = np.searchsorted(at, at - found.high) < np.searchsorted(at, at - found.low, "right")
    return behind, before


def _between(at: Counts, found: _Distance) -> Counts:
    behind = np.searchsorted(at, at + found.low)
    kept = behind < len(at)
    distances: Counts = at[behind[kept]] - at[kept]
    return distances[distances <= found.high]
