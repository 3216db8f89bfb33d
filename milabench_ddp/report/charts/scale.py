"""From values to places along an axis, with ticks at round numbers."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable

from msgspec import Struct

from ..statistics.values import known

TINY = 1e-100  # what is smaller is 0
FLAT = 1e-6  # a range that is narrower than this part of its values is widened: ticks differ
ROUND = (1, 2, 5, 10)
PREFIXES = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))  # from, size
WRITTEN_OUT = 1e16  # what is larger has an exponent
STEPS = 6  # between ticks, at most, but for the ends
DOUBLINGS, DECADES = 12, 6  # between the ends of a logarithmic axis, each with a tick, at most
FEW_DECADES = 3  # these have ticks at 1, 2 and 5
APART, NARROW = 8.0, 0.2
SURE = 1e-9  # of a tick: rounding must not add another


class Scale(Struct, frozen=True):
    """The ticks of an axis, in ascending order; the first and the last are its ends."""

    ticks: tuple[float, ...]
    texts: tuple[str, ...]
    is_log: bool = False

    def share(self, value: float) -> float:
        """The place of a value, from 0 at the first tick to 1 at the last; beyond, that end."""
        first, last = self.ticks[0], self.ticks[-1]
        value = min(max(value, first), last)
        if self.is_log:
            first, last, value = math.log(first), math.log(last), math.log(value)
        return (value - first) / (last - first)

    def holds(self, value: float) -> bool:
        return self.ticks[0] <= value <= self.ticks[-1]


MakeScale = Callable[[Iterable[object]], Scale]


def linear(values: Iterable[object]) -> Scale:
    """A scale that holds all known values, with ticks at multiples of 1, 2 or 5."""
    low, high = _range(values)
    if high - low <= FLAT * max(abs(low), abs(high)):
        room = 0.1 * max(abs(low), abs(high)) or 1.0
        low, high = (low - room if low else 0.0), high + room  # zeros have their end at 0
    return _linear(low, high)


def zero_based(values: Iterable[object]) -> Scale:
    """A linear scale from 0 on, for what is never below, so that lengths can be compared."""
    _, high = _range([*values, 0.0])
    return _linear(0.0, high or 1.0)


def doublings(values: Iterable[object]) -> Scale:
    """A scale with ticks at powers of two, for numbers of nodes, ranks or bytes."""
    low, high = _positive_range(values)
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    ticks = _powers(2.0, first, max(last, first + 1), DOUBLINGS)
    return Scale(ticks, tuple(f"{tick:.10g}" for tick in ticks), is_log=True)


def logarithmic(values: Iterable[object]) -> Scale:
    """A scale with ticks at 1, 2 and 5 of each power of ten, or at these alone if many."""
    low, high = _positive_range(values)
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if last - first <= FEW_DECADES:
        steps = [m * 10.0**k for k in range(first, last + 1) for m in ROUND[:-1]]
        begin = bisect_right(steps, low * (1 + SURE)) - 1
        end = bisect_left(steps, high * (1 - SURE))
        ticks = tuple(steps[begin : max(end, begin + 1) + 1])
    else:
        ticks = _powers(10.0, first, last, DECADES)
    return Scale(ticks, tuple(map(short, ticks)), is_log=True)


def log_if_wide(values: Iterable[object]) -> Scale:
    """A logarithmic scale where positive values are far apart; else a linear one from 0."""
    low, high = _range(values)
    return logarithmic([low, high]) if _are_apart(low, high) else zero_based([high])


def auto_scale(values: Iterable[object]) -> Scale:
    """A scale of what is seen over time: linear, or logarithmic where values are far apart.

    It holds at least a fifth of the largest value, so that noise does not look large.
    """
    low, high = _range(values)
    if _are_apart(low, high):
        return logarithmic([low, high])
    room = max(NARROW * max(abs(low), abs(high)) - (high - low), 0.0) / 2
    return linear([low - room, high + room])


def reachable(values: Iterable[object], ends: Iterable[object]) -> list[float]:
    """The ends of intervals as far as an axis shows them: up to twice the farthest value.

    What goes on beyond is cut off, so that a single unsure value does not hide the others.
    """
    farthest = 2 * max(map(abs, known(values)), default=0.0)
    return [min(max(end, -farthest), farthest) for end in known(ends)]


def short(value: float) -> str:
    """A number as short as it can be: ``0``, ``0.25``, ``12.5k``, ``3e+20``."""
    if 1e3 <= abs(value) < 1e4:
        return f"{value:,.0f}"
    size, prefix = _prefix(abs(value))
    return f"{value / size:.4g}{prefix}"


def _are_apart(low: float, high: float) -> bool:
    return low > 0 and high > APART * low


def _linear(low: float, high: float) -> Scale:
    raw = (high - low) / STEPS
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(m * size for m in ROUND if m * size >= raw * (1 - SURE))
    places = max(0, 1 - math.floor(math.log10(step)))
    first, last = math.floor(low / step + SURE), math.ceil(high / step - SURE)
    ticks = tuple(round(k * step, places) + 0.0 for k in range(first, max(last, first + 1) + 1))
    return Scale(ticks, _texts(ticks, step))


def _texts(ticks: tuple[float, ...], step: float) -> tuple[str, ...]:
    largest = max(map(abs, ticks))
    if not 1e-4 <= largest < WRITTEN_OUT:
        return tuple(f"{tick:.9g}" for tick in ticks)
    size, prefix = _prefix(largest)
    places = max(0, -math.floor(math.log10(step / size) + SURE))
    return tuple(f"{tick / size:,.{places}f}{prefix}" if tick else "0" for tick in ticks)


def _prefix(largest: float) -> tuple[float, str]:
    for least, size, prefix in PREFIXES:
        if least <= largest < WRITTEN_OUT:
            return size, prefix
    return 1.0, ""


def _powers(base: float, first: int, last: int, most: int) -> tuple[float, ...]:
    every = math.ceil((last - first) / most)
    count = math.ceil((last - first) / every)
    return tuple(base ** (first + k * every) for k in range(count + 1))


def _range(values: Iterable[object]) -> tuple[float, float]:
    """The smallest and the largest of the known values; 0 and 1 without any."""
    found = [value if abs(value) > TINY else 0.0 for value in known(values)] or [0.0, 1.0]
    return min(found), max(found)


def _positive_range(values: Iterable[object]) -> tuple[float, float]:
    return _range([value for value in known(values) if value > TINY] or [1.0])
