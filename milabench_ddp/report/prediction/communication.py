"""How long communication takes on more nodes, by what it took on a few.

A message of b bytes over N nodes, or ranks, takes

    c(N) = constant + latency * h(N) + f(N) * b * N^g / beta,    f = 2 (N - 1) / N in an all-reduce

with h = log2 N, as in a tree, N - 1, as in a ring, or (N - 1)^1.5, as where hops meet. All are
tried, with and without each of the three terms (R. Thakur, R. Rabenseifner, W. Gropp, "Optimization
of collective communication operations in MPICH", 2005), and with g from 0, where each node keeps
its bandwidth, to 1, where all nodes share one link. A ring may be one over all ranks, or one over
nodes after one within each node, which then takes what was measured on a single node. The form with
the least Bayesian information criterion (G. Schwarz, 1978) is kept, since one term too many can
grow into the largest of all. Forms that explain the points as well make the interval wider: they
are drawn by Akaike's criterion, which spares fewer (K. P. Burnham, D. R. Anderson, "Model Selection
and Multimodel Inference", 2002). All g above 0 together are as likely beforehand as 0.

Errors are relative, and what is common to the messages of a launch is one error, not many: the
fit is by generalised least squares with a random effect of launches (B. H. Baltagi, "Econometric
Analysis of Panel Data", section 2.3).
"""

import math
from collections.abc import Iterator, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from ...numerics import Floats, np
from ..statistics.values import NAN
from .messages import Message

RESOLUTION = 1e-3  # relative: no time is known better
LEAST_MS = 1e-6
PRICE = 2.0  # Akaike's
GROWTHS = {"log2 N": 0.0, "(N - 1)": 1.0, "(N - 1)^1.5": 1.5}  # power of N - 1; 0: a logarithm
FADES = tuple(step / 50 for step in range(51))
# Of forms that explain the points as well, the first is kept: without a constant, and with the
# hops of a tree, which grow less than those of a ring and more than none.
CONSTANT, LATENCY, BANDWIDTH = range(3)
TERMS = (
    *((BANDWIDTH,), (LATENCY,), (LATENCY, BANDWIDTH), (CONSTANT,), (CONSTANT, BANDWIDTH)),
    *((CONSTANT, LATENCY), (CONSTANT, LATENCY, BANDWIDTH)),
)


class Form(Struct, frozen=True):
    """What a message consists of."""

    terms: tuple[int, ...]  # a constant, the latency of each hop, the bandwidth: one of ``TERMS``
    growth: str  # of the hops: one of ``GROWTHS``
    each: int  # ranks of a node in a ring over all ranks; 1 for a ring over nodes
    within: bool = False  # whether a ring within each node comes before it
    fade: float = 0.0  # the power of N by which bandwidth falls: one of ``FADES``

    def columns(self, count: Floats, size: Floats, number: Floats) -> Floats:
        """What each coefficient is multiplied with, for messages on ``count`` of ``size`` bytes."""
        power = GROWTHS[self.growth]
        hops = (count - 1) ** power if power else np.log2(count)
        ranks = count * self.each
        share = 2 * (ranks - 1) / ranks * count**self.fade
        every = np.stack([number, number * hops, share * size], axis=1)
        return every[:, list(self.terms)]


class Cost(Struct, frozen=True):
    """A form with its coefficients."""

    form: Form
    coefficients: Floats
    misfit: float = NAN  # of the messages: the sum of squares, of errors of size 1

    def ms(
        self, count: float | Floats, size: Floats, alone: Floats, number: float | Floats = 1
    ) -> Floats:
        """How long messages of ``size`` bytes take on ``count`` nodes or ranks.

        Of as many messages as ``number`` says, one after the other, ``size`` is the sum.
        """
        columns = self.form.columns(*np.broadcast_arrays(1.0 * count, size, 1.0 * number))
        found: Floats = np.maximum(columns @ self.coefficients, 0.0)
        return found + alone * self.form.within

    def text(self, *, of_bytes: bool) -> str:
        """The formula, in words, for messages whose sizes are known (``of_bytes``) or not."""
        told = dict(zip(self.form.terms, map(float, self.coefficients), strict=True))
        constant, latency = told.get(CONSTANT, 0.0), told.get(LATENCY, 0.0)  # ms
        slope = told.get(BANDWIDTH, 0.0)  # ms of a byte
        ranks, fade = "N" if self.form.each == 1 else "W", self.form.fade
        size = f"bytes / ({1e-6 / slope:.4g} GB/s)" if slope and of_bytes else f"{slope:.3g} ms"
        size += f" * N^{fade:.2g}" if fade else ""
        shown = [
            f"{constant:.3g} ms" if constant else "",
            f"{latency:.3g} ms * {self.form.growth}" if latency else "",
            f"2 ({ranks} - 1)/{ranks} * {size}" if slope else "",
            "what a node takes alone" if self.form.within else "",
        ]
        return " + ".join(filter(None, shown)) or "0 ms"


class Spread(Struct, frozen=True):
    """By how much launches vary, as a fraction, and how well that is known."""

    value: float
    freedom: int

    def draw(self, chance: "np.random.Generator") -> float:
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
        self._may_hide = may_hide
        self.count = np.array([float(each.count) for each in messages])
        self.size = np.array([each.bytes for each in messages])
        self.number = np.array([float(each.number) for each in messages])
        self.ms = np.array([each.ms for each in messages])
        self.alone = np.array([each.alone for each in messages])
        # a row for each message, a column for each launch: 1 where it is of this launch
        launches = np.array([each.launch for each in messages])
        self._of_launch = (launches[:, None] == np.unique(launches)).astype(float)
        self.spread = self._spread() or spread
        # Errors are fractions of what is fitted, not of what was measured, which has errors itself:
        # what is too small by chance would count most (R. W. Peelle's puzzle).
        self.noise, self._shared = 1.0, 0.0 * self._of_launch
        self._scale = np.maximum(self._of_launch @ self._means(self.ms), LEAST_MS)
        forms = list(_forms(each, bool(self.alone.any())))
        first = self._fitted(forms, 0.0)[0]
        fitted = np.maximum(self._made(first), RESOLUTION * self._scale)
        self.noise = self._noise_within(first, fitted)
        self._scale, self._shared = fitted, self._of_launch
        price = max(math.log(len(messages)), PRICE)
        self.costs = self._fitted(forms, price)

    @property
    def best(self) -> Cost:
        return self.costs[0]

    def likely(self, deviations: float) -> list[Cost]:
        """The forms that are within so many deviations of the one that explains most."""
        least = min(cost.misfit for cost in self.costs)
        return [cost for cost in self.costs if cost.misfit <= least + deviations**2]

    def redrawn(self, chance: "np.random.Generator") -> Cost:
        criteria = np.array([cost.misfit + PRICE * len(cost.coefficients) for cost in self.costs])
        likely = np.exp((criteria.min() - criteria) / 2)
        likely /= [len(FADES) - 1 if cost.form.fade else 1 for cost in self.costs]
        cost = self.costs[chance.choice(len(self.costs), p=likely / likely.sum())]
        launches = self.spread.draw(chance) * chance.standard_normal(self._of_launch.shape[1])
        errors = self._of_launch @ launches + self.noise * chance.standard_normal(len(self.ms))
        drawn = self._made(cost) + errors * self._scale
        return next(iter(self._fit(cost.form, (cost.form.fade,), drawn)), cost)

    def _fitted(self, forms: Sequence[Form], price: float) -> list[Cost]:
        """The forms that are possible, the best first.

        A coefficient has a price, and so has g above 0, as they explain noise, too.
        """
        found: list[Cost] = []
        for form in forms:
            found += self._fit(form, FADES if BANDWIDTH in form.terms else FADES[:1], self.ms)

        def criterion(cost: Cost) -> float:
            return cost.misfit + price * (len(cost.coefficients) + bool(cost.form.fade))

        return sorted(found, key=lambda cost: round(criterion(cost), 6))

    def _made(self, cost: Cost) -> Floats:
        return cost.ms(self.count, self.size, self.alone, self.number)

    def _fit(self, form: Form, fades: Sequence[float], ms: Floats) -> list[Cost]:
        usual = replace(form, fade=0.0).columns(self.count, self.size, self.number)
        columns = np.repeat(usual[None], len(fades), axis=0)
        if BANDWIDTH in form.terms:
            columns[:, :, -1] *= self.count ** np.array(fades)[:, None]
        scale = np.abs(columns).max(axis=1)
        x = self._whitened(columns / scale[:, None] / self._scale[:, None])
        y = self._whitened((ms - self.alone * form.within) / self._scale)
        left, sizes, right = np.linalg.svd(x, full_matrices=False)
        possible = sizes[:, -1] > 1e-6 * sizes[:, 0]
        ratios = (y @ left) / np.where(possible[:, None], sizes, 1.0)
        found = (ratios[:, None] @ right)[:, 0]
        below = found < 0
        if self._may_hide and CONSTANT in form.terms:
            below[:, 0] = False
        misfit = ((y - (x @ found[:, :, None])[:, :, 0]) ** 2).sum(axis=1)
        costs = []
        for place in np.flatnonzero(possible & ~below.any(axis=1)).tolist():
            of_fade = replace(form, fade=fades[place])
            costs.append(Cost(of_fade, found[place] / scale[place], float(misfit[place])))
        return costs

    def _whitened(self, values: Floats) -> Floats:
        """The values with independent errors of size 1: less a part of the mean of their launch."""
        spread = max(self.spread.value, RESOLUTION)
        part = 1 - self.noise / np.hypot(self.noise, np.sqrt(self._shared.sum(axis=0)) * spread)
        found: Floats = (values - self._shared * part @ self._means(values)) / self.noise
        return found

    def _means(self, values: Floats) -> Floats:
        means: Floats = (self._of_launch / self._of_launch.sum(axis=0)).T @ values
        return means

    def _spread(self) -> Spread | None:
        """How launches on as many nodes differ; None if each number has a single launch."""
        usual = np.zeros(len(self.ms))  # of a message of this size on as many nodes
        for count, size in set(zip(self.count, self.size, strict=True)):
            alike = (self.count == count) & (self.size == size)
            usual[alike] = self.ms[alike].mean()
        total, freedom = 0.0, 0
        levels = self._means(self.ms / np.maximum(usual, LEAST_MS))
        count_of = self._means(self.count)
        for count in np.unique(count_of):
            alike = levels[count_of == count]
            total += len(alike) * float(np.var(alike))
            freedom += len(alike) - 1
        return Spread(math.sqrt(total / freedom), freedom) if freedom else None

    def _noise_within(self, cost: Cost, fitted: Floats) -> float:
        error = self.ms / fitted - 1
        error -= self._of_launch @ self._means(error)
        spare = len(error) - self._of_launch.shape[1] - len(cost.coefficients)
        return max(math.sqrt(float(error @ error) / spare), RESOLUTION) if spare > 0 else RESOLUTION


def _forms(each: int, has_alone: bool) -> Iterator[Form]:
    rings = [(1, False)] if each == 1 else [(each, False), (1, has_alone)]
    for (ranks, within), terms in product(rings, TERMS):
        growths = [*GROWTHS]
        if LATENCY not in terms:
            growths = growths[:1]  # without hops, they do not grow
        elif CONSTANT in terms:
            growths = growths[:-1]  # the steepest beside a constant could pass for any other
        for growth in growths:
            yield Form(terms, growth, ranks, within)
