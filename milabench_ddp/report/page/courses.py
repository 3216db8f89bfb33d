"""The charts over time of a benchmark: its rate, the steps of its ranks, and its devices."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from operator import attrgetter
from typing import TypeVar

from ...numerics import Floats, np
from ...results.rate_columns import RateColumns, joined
from ...results.rates import are_rates
from ...samples import DeviceSample, sensors_of
from ..charts.axes import Span
from ..finding import Finding
from ..model import Row
from ..monitored import Monitored
from ..process import ProcessResult
from ..ranks.rank_launch import steady_launch
from ..ranks.rank_summary import RankId, rank_id
from ..statistics.durations import Weighed, sum_of_ranks
from ..statistics.values import NAN, mean, median
from .series import Course, TimeSeries

T = TypeVar("T")

RATE, STEPS, OWN, DEVICES = "rate", "steps", "own", "devices"  # their places in a section
WARM_UP, UNSTEADY, UNMEASURED = "warm-up", "before the steady state", "before the measured steps"
DIGITS = 3  # of what a sensor reads
BY_RATE = ("slowest", "median", "fastest")
BY_CLOCK = ("lowest clock", "median clock", "highest clock")
FEW = 3  # so many are all shown
MOST_NAMED = 4


def courses_of(row: Row, findings: Sequence[Finding]) -> Iterator[Course]:
    """The charts of a benchmark, in the order of its section, with what the findings name."""
    places = "\n".join(finding.place for finding in findings)
    yield from _rates(row, places)
    yield from _steps(row, findings)
    yield from _devices(row.monitored, places)


def choose(
    many: Sequence[T],
    value: Callable[[T], float],
    words: tuple[str, str, str],
    named: Sequence[T] = (),
) -> list[tuple[T, str]]:
    """Those with the smallest, the median and the largest value, and those that are named.

    Each has what it stands for, as its name ends: `` (slowest)``; empty if there are few.

    Args:
        value: of each; one whose value is NaN is not chosen.
        words: for the smallest, the median and the largest.
        named: those that a finding names; the first few.
    """
    if len(many) <= FEW:
        return [(each, "") for each in many]
    ordered = sorted((each for each in many if not math.isnan(value(each))), key=value)
    ends = [ordered[0], ordered[len(ordered) // 2], ordered[-1]] if ordered else []
    found: dict[int, tuple[T, str]] = {}
    for each, word in zip(ends, words, strict=False):
        found.setdefault(id(each), (each, f" ({word})"))
    for each in named[:MOST_NAMED]:
        found.setdefault(id(each), (each, " (named)"))
    return list(found.values())


def named_ranks(row: Row, findings: Iterable[Finding]) -> set[RankId]:
    """The ranks and devices that findings are about: in their place, or all in their evidence."""
    named: set[object] = set()
    for finding in findings:
        told = finding.evidence.get("ranks")
        named |= {finding.place, *(told if isinstance(told, list | dict) else ())}
    ids = [rank.id for rank in row.ranks]
    return {id for id in ids if not named.isdisjoint((id.label, id.name, id.rank))}


def is_named(label: str, places: str) -> bool:
    # `GPU 1` is not in `GPU 12`, nor in `GPU 1 of node-2`
    word = rf"(?<![\w.]){re.escape(label)}(?![\w.]| of )"
    return label in places and re.search(word, places) is not None


def _rates(row: Row, places: str) -> Iterator[Course]:
    processes = measuring(row)
    named = [process for process in processes if is_named(process.record.tag, places)]
    chosen = choose(processes, attrgetter("rate"), BY_RATE, named)
    shown = [(f"{process.record.tag}{word}", process) for process, word in chosen]
    yield from rate_course(shown, row.unit)


def rate_course(processes: Sequence[tuple[str, ProcessResult]], unit: str) -> Iterator[Course]:
    """The rates of processes that measured something, over time; none without any."""
    seen = [_observations(process) for _, process in processes]
    x = [times for lines in seen if (times := _times(lines)) is not None]
    axis = "time (s)"
    if len(x) < len(seen):
        x = [_numbers(lines) for lines in seen]
        axis = "observation"
    curves, warm, unsteady = [], [], []
    for (name, process), lines, times in zip(processes, seen, x, strict=True):
        curves.append(TimeSeries(name, times, lines.rate))
        marked = int((~lines.counts).sum())
        warm.append(_until(times, marked))
        unsteady.append(_until(times, marked + process.steady.start))
    if curves:
        begin = min(float(times[0]) for times in x)
        shaded = _left_out(begin, median(warm), median(unsteady))
        yield Course(RATE, "Rate over time", axis, unit or "units/s", tuple(curves), shaded)


def measuring(row: Row) -> list[ProcessResult]:
    return [process for process in row.counted if len(process.measured)]


def _observations(process: ProcessResult) -> RateColumns:
    """Its rates in the order of time, warm-up first; of several ranks, their sums."""
    told = process.record.rates.load()
    warmup = told.at(told.warmup & ~told.repeated & are_rates(told.rate))
    ranks = [Weighed(lines, np.ones(len(lines))) for lines in warmup.by_rank().values()]
    measured = process.measured.lines
    return joined([sum_of_ranks(ranks).lines, measured]) if ranks else measured


def _times(lines: RateColumns) -> Floats | None:
    """Seconds since the first observation; None unless all tell when they were made."""
    for times in (lines.time, lines.arrived):
        if np.isfinite(times).all() and (np.diff(times) >= 0).all() and times[-1] > times[0]:
            since: Floats = times - times[0]
            return since
    return None


def _numbers(values: Sized) -> Floats:
    return np.arange(1.0, len(values) + 1)


def _until(x: Floats, count: int) -> float:
    return float(x[count - 1] + x[count]) / 2 if 0 < count < len(x) else NAN


def _left_out(begin: float, warm: float, unsteady: float) -> tuple[Span, ...]:
    found = []
    if warm > begin:
        found.append(Span(WARM_UP, begin, warm))
        begin = warm
    if unsteady > begin:
        found.append(Span(UNSTEADY, begin, unsteady, "unsteady"))
    return tuple(found)


def _steps(row: Row, findings: Sequence[Finding]) -> Iterator[Course]:
    is_local = all(rank.local for rank in row.timed)
    levels = {rank.id: rank.local_ms if is_local else rank.median for rank in row.timed}
    ranks = []
    for process in row.counted:
        for number, rank in process.record.ranks.items():
            id = rank_id(process.record, number)
            if len(rank.ms) and id in levels:
                ranks.append((id, process, rank))
    named = named_ranks(row, findings)
    of_findings = [each for each in ranks if each[0] in named]
    curves, own, unsteady = [], [], []
    for (id, process, rank), word in choose(ranks, lambda it: -levels[it[0]], BY_RATE, of_findings):
        name = f"{_with_repeat(id.label, process)}{word}"
        steps = _numbers(rank.ms)
        curves.append(TimeSeries(name, steps, np.asarray(rank.ms, np.float64)))
        unsteady.append(_until(steps, process.unsteady_of(len(rank.ms))))
        times = steady_launch(process.record, rank, 0).own()
        if times is not None and process.record.device is None:
            own.append(TimeSeries(name, steps, times[0] + times[1]))
    shaded = _left_out(1.0, NAN, median(unsteady))
    if curves:
        yield Course(STEPS, "Step times", "step", "ms", tuple(curves), shaded)
    if own:
        title = "Own work in each step, without waits for other ranks"
        yield Course(OWN, title, "step", "ms", tuple(own), shaded)


def _devices(monitored: Sequence[Monitored], places: str) -> Iterator[Course]:
    named = [device for device in monitored if is_named(device.label, places)]
    seen, begins = {}, []
    for device, word in choose(monitored, _clock, BY_CLOCK, named):
        samples = device.process.record.samples.get(device.device, ())
        timed = [(sample.time, sample) for sample in samples if sample.time is not None]
        name = f"{_with_repeat(device.label, device.process)}{word}"
        seen[name] = sorted(timed, key=lambda pair: pair[0])
        if device.window is not None:
            begins.append(device.window.begin)
    start = min((time for timed in seen.values() for time, _ in timed), default=0.0)
    begin = median(begins) - start
    shaded = (Span(UNMEASURED, 0.0, begin),) if begin > 0 else ()
    for sensor in sensors_of(DeviceSample):
        unit, factor = sensor.charted
        curves = []
        for name, timed in seen.items() if sensor.chart else ():
            values = [(time - start, sensor.value(sample)) for time, sample in timed]
            known = [(time, factor * value) for time, value in values if value is not None]
            if known:
                curves.append(TimeSeries(name, *zip(*known, strict=True)))
        if curves:
            place, shown = f"{DEVICES}-{sensor.name}", tuple(curves)
            yield Course(place, sensor.chart, "time (s)", unit, shown, shaded, DIGITS, DEVICES)


def _clock(device: Monitored) -> float:
    clock = mean(sample.sm_clock for sample in device.measured)
    return mean(sample.load for sample in device.measured) if clock != clock else clock


def _with_repeat(name: str, process: ProcessResult) -> str:
    return " ".join(filter(None, (name, process.record.repeat)))
