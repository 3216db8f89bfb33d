"""Predictions of a benchmark on more nodes than it was measured on, each with its interval.

The model is checked by what it says of communication at the largest measured point without having
seen it: of each bucket, as the step may still hide it, or of the step, where buckets are not known.
Where that is wrong by more than its interval allows, there is no prediction.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from msgspec import Struct
from msgspec.structs import replace

from ...codec import about
from ...errors import SelectionError
from ...grouping import grouped
from ...numerics import Floats, np
from ...table import Measured, size_text
from ..model import Rows
from ..statistics.student import quantile
from ..statistics.values import mean
from ..sweeps.efficiency import efficiency_of
from .cost_model import Draw, StepModel
from .points import Points, points_of

FARTHEST = 8  # times the largest measured
DRAWS = 400
LIKELY = 4.0  # standard deviations
SEED = 20261122  # the same report twice shows the same numbers


class Estimate(Struct, frozen=True):
    """A predicted number with its 95 % interval."""

    value: Annotated[float, about("the most likely")]
    low: Annotated[float, about("the lower end of the interval")]
    high: Annotated[float, about("the upper end of the interval")]

    @property
    def half_width(self) -> float:
        return max(self.high - self.value, self.value - self.low)

    @property
    def measured(self) -> Measured:
        return Measured(self.value, self.half_width, with_error=True)


class Prediction(Struct, frozen=True):
    """A benchmark on so many nodes or ranks."""

    count: Annotated[int, about("nodes, or ranks")]
    step_ms: Annotated[Estimate, about("the mean step", "ms")]
    throughput: Annotated[Estimate, about("the rate of all ranks", "units/s")]
    efficiency: Annotated[Estimate, about("throughput relative to the fewest, per node or rank")]
    own_ms: Annotated[float, about("the mean own work of a rank", "ms")]
    waiting_ms: Annotated[float, about("waits for the slowest rank", "ms")]
    communication_ms: Annotated[float, about("communication that nothing hides", "ms")]
    measured_ms: Annotated[
        float | None, about("the mean step as measured; null where it was not", "ms")
    ] = None


class Check(Struct, frozen=True):
    """What was measured at the largest point beside what the others predict: the worst of it."""

    count: Annotated[int, about("nodes, or ranks")]
    what: Annotated[str, about("that is checked: the all-reduce of a bucket, or the step")]
    predicted_ms: Annotated[
        Estimate, about("by the other points; with the error of what was measured", "ms")
    ]
    measured_ms: Annotated[float, about("its mean", "ms")]
    error: Annotated[float, about("by which fraction the prediction was too high")]
    holds: Annotated[bool, about("whether the interval has what was measured")]


class Predicted(Struct, frozen=True):
    """What is predicted of a benchmark, and what is not, with the reasons."""

    name: str
    axis: Annotated[str, about("what is counted: nodes or ranks")] = ""
    unit: Annotated[str, about("of its rate, such as tokens/s")] = ""
    model: Annotated[str, about("in words")] = ""
    condition: Annotated[str, about("under which its predictions hold")] = ""
    predictions: tuple[Prediction, ...] = ()
    check: Annotated[Check | None, about("null if the other points tell too little")] = None
    refused: Annotated[tuple[str, ...], about("what is not predicted, and why")] = ()
    measured: Annotated[tuple[int, ...], about("the counts that were measured")] = ()

    @property
    def counts(self) -> list[int]:
        return [each.count for each in self.predictions]


def predictions_of(rows: Rows, counts: Sequence[int]) -> list[Predicted]:
    """Predict each benchmark that was measured on several numbers of nodes, or ranks.

    Raises:
        SelectionError: there is none, or none can be predicted; the message has the reasons.
    """
    found = []
    for points in points_of(rows):
        if isinstance(points, Points):
            found.append(predicted(points, counts))
        else:
            found.append(Predicted(points[0], refused=(points[1],)))
    if not any(set(each.counts) & set(counts) for each in found):
        reasons = [f"{each.name}: {reason}" for each in found for reason in each.refused]
        why = "\n  ".join(reasons or ["no benchmark trains with several ranks"])
        raise SelectionError(f"--predict: nothing can be predicted:\n  {why}")
    return found


def predicted(points: Points, counts: Sequence[int], draws: int = DRAWS) -> Predicted:
    refused = dict(_out_of_range(points, counts))
    head = Predicted(
        points.name,
        points.axis,
        points.unit,
        measured=tuple(points.counts),
        refused=tuple(refused.values()),
    )
    if refused.keys() >= set(counts):
        return head
    model = StepModel(points)
    checked = check(model, draws)
    most = points.counts[-1]
    condition = f"if the network beyond {most} {points.axis} is as up to {most}"
    head = replace(head, model=_in_words(model), condition=condition, check=checked)
    if checked is not None and not checked.holds:
        return replace(head, refused=(_wrong(checked, points.axis),))
    wanted = sorted({*points.counts, *counts} - refused.keys())
    return replace(head, predictions=tuple(_predictions(model, wanted, draws)))


def check(model: StepModel, draws: int) -> Check | None:
    """Predict the largest point from the others; None if these say nothing of communication."""
    *others, largest = model.points.points
    count = largest.count
    # how launches vary is not what the largest point is to show, and few launches hardly tell it
    without = StepModel(replace(model.points, points=tuple(others)), model.spread)
    if without.fits is None:
        return None
    names, measured, spread, noise = ["the step"], [largest.step], model.spread, 0.0
    is_timed = model.is_timed and without.is_timed
    alike = grouped(
        (message.bytes, message)
        for message in model.messages
        if message.count == count and is_timed
    )
    if not alike:
        found = _estimates(without, draws, lambda draw: [without.step(count, draw)])
    else:
        names = [f"the all-reduce of {size_text(size)}" for size in alike]
        measured = [mean(message.ms for message in messages) for messages in alike.values()]
        firsts = [messages[0] for messages in alike.values()]
        size, alone, number = np.array([(one.bytes, one.alone, one.number) for one in firsts]).T
        spread, noise = without.fits.spread, without.fits.noise
        # all that explain the others: of a single count, every form, at each end of its growth
        every = [one.ms(count, size, alone, number) for one in without.fits.likely(LIKELY)]
        best = without.fits.best.ms(count, size, alone, number)
        ends = zip(best, np.min(every, axis=0), np.max(every, axis=0), strict=True)
        found = [Estimate(*map(float, each)) for each in ends]
    t = quantile(0.025 / len(found), max(spread.freedom, 1))
    launches = 1 / len(largest.launches) + 1 / len(others[-1].launches)
    error = t * math.hypot(spread.value, noise) * math.sqrt(launches)
    checks = []
    for what, each, ms in zip(names, found, measured, strict=True):
        # what was measured has an error, too, and the truth may be one of the ends
        low, high = each.low - error * ms, each.high + error * ms
        predicted_ms, holds = Estimate(each.value, low, high), low <= ms <= high
        checks.append(Check(count, what, predicted_ms, ms, each.value / ms - 1, holds))
    return min(checks, key=lambda each: (each.holds, -abs(each.error)))


def _predictions(model: StepModel, counts: Sequence[int], draws: int) -> Iterator[Prediction]:
    points = model.points
    base = points.counts[0]
    units = mean(each.units / point.count for point in points.points for each in point.launches)
    measured = {point.count: point.step for point in points.points}

    def numbers(draw: Draw) -> list[float]:
        first = model.step(base, draw)
        found = []
        for count in counts:
            step = model.step(count, draw)
            rate, rate_of_base = 1e3 * units * count / step, 1e3 * units * base / first
            found += [step, rate, efficiency_of(rate, count, rate_of_base, base)]
        return found

    found = _estimates(model, draws, numbers)
    for place, count in enumerate(counts):
        step, rate, efficiency = found[3 * place : 3 * place + 3]
        yield Prediction(count, step, rate, efficiency, *model.parts(count), measured.get(count))


def _estimates(
    model: StepModel, draws: int, numbers: Callable[[Draw], Sequence[float]]
) -> list[Estimate]:
    chance = np.random.default_rng(SEED)
    drawn = np.array([numbers(model.redrawn(chance)) for _ in range(draws)])
    ends: Floats = np.quantile(drawn, (0.025, 0.975), axis=0).T
    return [
        Estimate(float(value), min(float(value), low), max(float(value), high))
        for value, (low, high) in zip(numbers(model.draw), ends.tolist(), strict=True)
    ]


def _out_of_range(points: Points, counts: Sequence[int]) -> Iterator[tuple[int, str]]:
    least, most = points.counts[0], points.counts[-1]
    for count in counts:
        if count < least:
            yield count, f"{count} {points.axis} are fewer than the fewest measured, {least}"
        elif count > FARTHEST * most:
            far = f"more than {FARTHEST} times the most measured, {most}"
            yield count, f"{count} {points.axis} are {far}"


def _wrong(checked: Check, axis: str) -> str:
    found = checked.predicted_ms
    width = found.half_width / found.value
    return (
        f"the other points predict {found.value:.4g} ms for {checked.what} on {checked.count} "
        f"{axis}, ±{width:.1%}, and {checked.measured_ms:.4g} ms were measured: the model does not "
        "hold"
    )


def _in_words(model: StepModel) -> str:
    if model.draw.cost is None:
        return "own work alone"
    formula = model.draw.cost.text(of_bytes=bool(model.buckets))
    return f"communication by {model.source}: {formula}"
