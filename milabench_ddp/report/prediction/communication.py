"""How long communication takes on more nodes, by what it took on a few.

A message of b bytes over N nodes, or ranks, takes

    c(N) = constant + latency * g(N) + f(N) * b / beta,    f = 2 (N - 1) / N for an all-reduce

with g = log2 N, as in a tree, or N - 1, as in a ring. Both are tried, with and without each of the
three terms (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
operations in MPICH", 2005). A ring may be one over all ranks, or one over nodes after one
within each node, which then takes what was measured on a single node. The form with the least
Akaike criterion is kept; forms that explain the points as well make the interval wider.

Errors are relative, and what is common to the messages of a launch is one error, not many: the
fit is by generalised least squares with a random effect of launches (B. H. Baltagi, "Econometric
Analysis of Panel Data", section 2.3).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from ..statistics.values import NAN

if TYPE_CHECKING:
    import numpy as np

    from ..statistics.values import Floats

RESOLUTION = 1e-3  # relative: no time is known better
LEAST_MS = 1e-6
FAST = 0.5  # of the mean time of a byte
GROWTHS = ("log", "linear")
# Of forms that explain the points as well, the first is kept: without a constant, and with the
# hops of a tree, which grow less than those of a ring and more than none.
TERMS = tuple(
    (constant, latency, bandwidth)
    for constant, latency, bandwidth in product((False, True), repeat=3)
    if constant or latency or bandwidth
)


@dataclass(frozen=True)
class Message:
    """A measured message, or all exposed communication of a step as one."""

    launch: int
    count: int  # of nodes or ranks
    bytes: float
    ms: float
    alone: float = 0.0  # ms of it on a single node of several ranks


@dataclass(frozen=True)
class Form:
    """What a message consists of."""

    terms: tuple[bool, bool, bool]  # a constant, the latency of each hop, the bandwidth
    growth: str  # of the hops: one of ``GROWTHS``
    each: int  # ranks of a node in a ring over all ranks; 1 for a ring over nodes
    within: bool = False  # whether a ring within each node comes before it

    @property
    def places(self) -> list[int]:
        """The terms that it has, by their numbers."""
        return [place for place, is_there in enumerate(self.terms) if is_there]

    def columns(self, count: "Floats", size: "Floats") -> "Floats":
        """What each coefficient is multiplied with, for messages on ``count`` of ``size`` bytes."""
        import numpy as np

        hops = np.log2(count) if self.growth == "log" else count - 1
        ranks = count * self.each
        share = 2 * (ranks - 1) / ranks
        every = np.stack([np.ones(len(size)), hops, share * size], axis=1)
        kept: Floats = every[:, self.places]
        return kept


@dataclass(frozen=True)
class Cost:
    """A form with its coefficients."""

    form: Form
    coefficients: "Floats"
    criterion: float = NAN  # Akaike's

    def ms(self, count: float, size: "Floats", alone: "Floats") -> "Floats":
        """How long messages of ``size`` bytes take on ``count`` nodes or ranks."""
        import numpy as np

        columns = self.form.columns(np.full(len(size), float(count)), size)
        found: Floats = columns @ self.coefficients + alone * self.form.within
        return np.maximum(found, 0.0)

    @property
    def terms(self) -> tuple[float, float, float]:
        """The constant in ms, the latency of a hop in ms, and the ms of a byte; 0 if not there."""
        found = [0.0, 0.0, 0.0]
        for place, value in zip(self.form.places, self.coefficients, strict=True):
            found[place] = float(value)
        return found[0], found[1], found[2]

    def text(self, *, of_bytes: bool) -> str:
        """The formula, in words.

        Args:
            of_bytes: whether the sizes of the messages are known.
        """
        constant, latency, slope = self.terms
        hops = {"log": "log2 N", "linear": "(N - 1)"}[self.form.growth]
        ranks = "N" if self.form.each == 1 else "W"
        size = f"bytes / ({1e-6 / slope:.4g} GB/s)" if slope and of_bytes else f"{slope:.3g} ms"
        shown = [
            f"{constant:.3g} ms" if constant else "",
            f"{latency:.3g} ms * {hops}" if latency else "",
            f"2 ({ranks} - 1)/{ranks} * {size}" if slope else "",
            "what a node takes alone" if self.form.within else "",
        ]
        return " + ".join(filter(None, shown)) or "0 ms"


@dataclass(frozen=True)
class Spread:
    """By how much launches vary, as a fraction, and how well that is known."""

    value: float
    freedom: int

    def draw(self, chance: "np.random.Generator") -> float:
        """A value that it may have, too: the estimate of a normal deviation is uncertain."""
        if not self.freedom:
            return self.value
        return self.value * math.sqrt(self.freedom / chance.chisquare(self.freedom))


class Fits:
    """All forms that fit messages."""

    def __init__(
        self, messages: Sequence[Message], each: int, spread: Spread, *, may_hide: bool = False
    ) -> None:
        """Fit every form that the messages can tell apart from a simpler one.

        Args:
            messages: on at least two nodes or ranks.
            each: ranks of a node.
            spread: of launches, where the messages are of one launch for each number of nodes.
            may_hide: whether a constant part of the messages may be hidden: then the constant can
                be negative.
        """
        import numpy as np

        self._may_hide = may_hide
        self.count = np.array([float(each.count) for each in messages])
        self.size = np.array([each.bytes for each in messages])
        self.ms = np.array([each.ms for each in messages])
        self.alone = np.array([each.alone for each in messages])
        # a row for each message, a column for each launch: 1 where it is of this launch
        launches = np.array([each.launch for each in messages])
        self._of_launch = (launches[:, None] == np.unique(launches)).astype(float)
        self._scale = self._scales()
        self._share = self._of_launch * (self.ms / self._scale)[:, None]
        self.spread = self._spread() or spread
        self._noise = RESOLUTION
        forms = list(_forms(each, bool(self.alone.any())))
        found = [cost for form in forms if (cost := self._fit(form, self.ms)) is not None]
        self._noise = self._noise_within(found)
        found = [cost for form in forms if (cost := self._fit(form, self.ms)) is not None]
        self.costs = sorted(found, key=lambda cost: round(cost.criterion, 6))

    @property
    def best(self) -> Cost:
        """The form with the least criterion."""
        return self.costs[0]

    def redrawn(self, chance: "np.random.Generator") -> Cost:
        """The fit that other launches might have given."""
        import numpy as np

        least = self.best.criterion
        likely = np.exp([(least - cost.criterion) / 2 for cost in self.costs])
        cost = self.costs[chance.choice(len(self.costs), p=likely / likely.sum())]
        launches = self.spread.draw(chance) * chance.standard_normal(self._of_launch.shape[1])
        errors = self._share @ launches + self._noise * chance.standard_normal(len(self.ms))
        made = np.maximum(cost.form.columns(self.count, self.size) @ cost.coefficients, 0.0)
        made += self.alone * cost.form.within + errors * self._scale
        return self._fit(cost.form, made) or cost

    def _fit(self, form: Form, ms: "Floats") -> Cost | None:
        """The coefficients of a form; None if they are not known, or not possible."""
        import numpy as np

        columns = form.columns(self.count, self.size)
        scale = np.abs(columns).max(axis=0)
        x = self._whitened(columns / scale / self._scale[:, None])
        y = self._whitened((ms - self.alone * form.within) / self._scale)
        found, _, rank, _ = np.linalg.lstsq(x, y, rcond=1e-6)
        if rank < len(scale):
            return None
        below = found < 0
        if self._may_hide and form.terms[0]:
            below[0] = False
        if below.any():
            return None
        misfit = y - x @ found
        return Cost(form, found / scale, float(misfit @ misfit) + 2 * len(scale))

    def _whitened(self, values: "Floats") -> "Floats":
        """The values with independent errors of size 1: less a part of what launches share."""
        import numpy as np

        noise, spread = max(self._noise, RESOLUTION), max(self.spread.value, RESOLUTION)
        part = 1 - noise / np.hypot(noise, np.sqrt((self._share**2).sum(axis=0)) * spread)
        found: Floats = (values - self._share * part @ self._shared(values)) / noise
        return found

    def _shared(self, values: "Floats") -> "Floats":
        """By how much the messages of each launch are longer than expected, as a fraction."""
        import numpy as np

        squares = np.maximum((self._share**2).sum(axis=0), RESOLUTION**2)
        found: Floats = (self._share / squares).T @ values
        return found

    def _scales(self) -> "Floats":
        """The ms that the errors of each message are fractions of.

        They are those of the message. But messages that seem to be faster than all others, for
        their bytes, were sent beside others, as gloo does with two. Then only the time of all of
        them is known, and errors that are small beside the usual message do not count.
        """
        import numpy as np

        whole = self._of_launch @ (self._of_launch.T @ np.stack([self.ms, self.size], axis=1))
        is_fast = self.ms * whole[:, 1] < FAST * self.size * whole[:, 0]
        scales: Floats = self.ms
        if is_fast.any():
            usual = self._of_launch @ self._means(self.ms)
            scales = np.hypot(self.ms, usual) / math.sqrt(2)
        return np.maximum(scales, LEAST_MS)

    def _means(self, values: "Floats") -> "Floats":
        """The mean of each launch."""
        means: Floats = (self._of_launch / self._of_launch.sum(axis=0)).T @ values
        return means

    def _spread(self) -> Spread | None:
        """How launches on as many nodes differ; None if each number has a single launch."""
        import numpy as np

        usual = np.zeros(len(self.ms))  # of a message of this size on as many nodes
        for count, size in set(zip(self.count, self.size, strict=True)):
            alike = (self.count == count) & (self.size == size)
            usual[alike] = self.ms[alike].mean()
        total, freedom = 0.0, 0
        levels = self._shared((self.ms - usual) / self._scale)
        count_of = self._means(self.count)
        for count in np.unique(count_of):
            alike = levels[count_of == count]
            total += len(alike) * float(np.var(alike))
            freedom += len(alike) - 1
        return Spread(math.sqrt(total / freedom), freedom) if freedom else None

    def _noise_within(self, costs: Sequence[Cost]) -> float:
        """The relative error of a message within its launch, by the form that fits best."""
        spare, least = len(self.ms) - self._of_launch.shape[1], math.inf
        for cost in costs:
            made = cost.form.columns(self.count, self.size) @ cost.coefficients
            error = (made + self.alone * cost.form.within - self.ms) / self._scale
            error -= self._share @ self._shared(error)
            left = spare - len(cost.coefficients)
            if left > 0:
                least = min(least, math.sqrt(float(error @ error) / left))
        return max(least, RESOLUTION) if math.isfinite(least) else RESOLUTION


def _forms(each: int, has_alone: bool) -> Iterator[Form]:
    rings = [(1, False)] if each == 1 else [(each, False), (1, has_alone)]
    for (ranks, within), terms, growth in product(rings, TERMS, GROWTHS):
        if terms[1] or growth == GROWTHS[0]:  # without hops, they do not grow
            yield Form(terms, growth, ranks, within)
