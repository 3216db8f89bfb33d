"""The charts over time of a benchmark: its rate, the steps of its ranks, and its devices."""

from collections.abc import Iterator, Sequence, Sized
from typing import TYPE_CHECKING, NamedTuple

from ...results.rank import Rank
from ...results.rate_columns import RateColumns, joined
from ...results.rates import are_rates
from ...samples import DeviceSample, sensors_of
from ..charts.axes import Span
from ..finding import Finding
from ..model import Row
from ..monitored import Monitored
from ..process import Processes, ProcessResult, counted
from ..ranks.rank_launch import steady_launch
from ..ranks.rank_summary import RankId, rank_id
from ..statistics.durations import Weighed, sum_of_ranks
from ..statistics.values import NAN, mean, median
from .named import choose, is_named, named_ranks
from .series import Course, TimeSeries

if TYPE_CHECKING:
    from ...numerics import Floats

RATE, STEPS, OWN, DEVICES = (
    "rate",
    "steps",
    "own",
    "devices",
)  # the places of these charts in a section
WARM_UP, UNSTEADY, UNMEASURED = "warm-up", "before the steady state", "before the measured steps"
DIGITS = 3  # of what a sensor reads
BY_RATE = ("slowest", "median", "fastest")
BY_CLOCK = ("lowest clock", "median clock", "highest clock")


class _TimedRank(NamedTuple):
    """A rank in a launch that timed its steps."""

    id: RankId
    process: ProcessResult
    rank: Rank
    level: float  # the local time of the rank, or where that is not known its step, in ms

    @property
    def own_ms(self) -> "Floats | None":
        """Its local time in each step; None if it is not known, or the step itself."""
        own = steady_launch(self.process.record, self.rank, 0).own()
        if own is None or self.process.record.device is not None:
            return None
        return own[0] + own[1]


def courses_of(row: Row, findings: Sequence[Finding]) -> Iterator[Course]:
    """The charts of a benchmark, in the order of its section.

    Args:
        row: the benchmark.
        findings: those about it; what they name is drawn.
    """
    processes = [process for process in counted(row.processes) if len(process.measured)]
    if processes:
        yield _rates(row, processes, findings)
    ranks = list(_timed_ranks(row))
    if ranks:
        yield from _steps(ranks, named_ranks(row, findings))
    yield from _devices(row.monitored, findings)


def _rates(row: Row, processes: Processes, findings: Sequence[Finding]) -> Course:
    named = [process for process in processes if is_named(process.record.tag, findings)]
    chosen = choose(processes, _mean_rate, BY_RATE, named)
    seen = [_observations(each.one) for each in chosen]
    known = [times for lines in seen if (times := _times(lines)) is not None]
    has_clock = len(known) == len(seen)
    x = known if has_clock else [_numbers(lines) for lines in seen]
    curves, warm, unsteady = [], [], []
    for each, lines, times in zip(chosen, seen, x, strict=True):
        curves.append(TimeSeries(each.label(each.one.record.tag), times, lines.rate))
        marked = int((~lines.counts).sum())
        warm.append(_until(times, marked))
        unsteady.append(_until(times, marked + each.one.steady.start))
    axis = "time (s)" if has_clock else "observation"
    begin = min(float(times[0]) for times in x)
    shaded = _left_out(begin, median(warm), median(unsteady))
    return Course(RATE, "Rate over time", axis, row.unit or "units/s", tuple(curves), shaded)


def _mean_rate(process: ProcessResult) -> float:
    return process.series.mean if process.series else NAN


def _observations(process: ProcessResult) -> RateColumns:
    """Its rates in the order of time, warm-up first; of several ranks, their sums."""
    from ...numerics import np

    told = process.record.rates.load()
    warmup = told.at(told.warmup & ~told.repeated & are_rates(told.rate))
    ranks = [Weighed(lines, np.ones(len(lines))) for lines in warmup.by_rank().values()]
    measured = process.measured.lines
    return joined([sum_of_ranks(ranks).lines, measured]) if ranks else measured


def _times(lines: RateColumns) -> "Floats | None":
    """Seconds since the first observation; None unless all tell when they were made."""
    from ...numerics import np

    for times in (lines.time, lines.arrived):
        if np.isfinite(times).all() and (np.diff(times) >= 0).all() and times[-1] > times[0]:
            since: Floats = times - times[0]
            return since
    return None


def _numbers(values: Sized) -> "Floats":
    """1, 2, 3 and so on."""
    from ...numerics import np

    return np.arange(1.0, len(values) + 1)


def _until(x: "Floats", count: int) -> float:
    return float(x[count - 1] + x[count]) / 2 if 0 < count < len(x) else NAN


def _left_out(begin: float, warm: float, unsteady: float) -> tuple[Span, ...]:
    found = []
    if warm > begin:
        found.append(Span(WARM_UP, begin, warm))
        begin = warm
    if unsteady > begin:
        found.append(Span(UNSTEADY, begin, unsteady, "unsteady"))
    return tuple(found)


def _timed_ranks(row: Row) -> Iterator[_TimedRank]:
    summaries = {rank.id: rank for rank in row.timed}
    is_local = all(rank.local for rank in summaries.values())
    for process in counted(row.processes):
        for number, rank in process.record.ranks.items():
            id = rank_id(process.record, number)
            if len(rank.ms) and id in summaries:
                summary = summaries[id]
                level = summary.local_ms if is_local else summary.median
                yield _TimedRank(id, process, rank, level)


def _steps(ranks: Sequence[_TimedRank], named: set[RankId]) -> Iterator[Course]:
    from ...numerics import np

    curves, own, unsteady = [], [], []
    of_findings = [each for each in ranks if each.id in named]
    for each in choose(ranks, lambda rank: -rank.level, BY_RATE, of_findings):
        id, process, rank, _ = each.one
        steps = _numbers(rank.ms)
        name = each.label(_with_repeat(id.label, process))
        curves.append(TimeSeries(name, steps, np.asarray(rank.ms, np.float64)))
        own_ms = each.one.own_ms
        if own_ms is not None:
            own.append(TimeSeries(name, steps, own_ms))
        unsteady.append(_until(steps, process.unsteady_of(len(rank.ms))))
    shaded = _left_out(1.0, NAN, median(unsteady))
    yield Course(STEPS, "Step times", "step", "ms", tuple(curves), shaded)
    if own:
        title = "Own work in each step, without waits for other ranks"
        yield Course(OWN, title, "step", "ms", tuple(own), shaded)


def _devices(monitored: Sequence[Monitored], findings: Sequence[Finding]) -> Iterator[Course]:
    named = [device for device in monitored if is_named(device.label, findings)]
    samples, begins = {}, []
    for each in choose(monitored, _clock, BY_CLOCK, named):
        device = each.one
        name = each.label(_with_repeat(device.label, device.process))
        samples[name] = _timed_samples(device)
        if device.window is not None:
            begins.append(device.window.begin)
    start = min((time for found in samples.values() for time, _ in found), default=0.0)
    begin = median(begins) - start
    shaded = (Span(UNMEASURED, 0.0, begin),) if begin > 0 else ()
    for sensor in sensors_of(DeviceSample):
        unit, factor = sensor.charted
        curves = []
        for name, found in samples.items() if sensor.chart else ():
            times, values = [], []
            for time, sample in found:
                value = sensor.value(sample)
                if value is not None:
                    times.append(time - start)
                    values.append(factor * value)
            if values:
                curves.append(TimeSeries(name, times, values))
        if curves:
            place, shown = f"{DEVICES}-{sensor.name}", tuple(curves)
            yield Course(place, sensor.chart, "time (s)", unit, shown, shaded, DIGITS, DEVICES)


def _clock(device: Monitored) -> float:
    clock = mean(sample.sm_clock for sample in device.measured)
    return mean(sample.load for sample in device.measured) if clock != clock else clock


def _timed_samples(device: Monitored) -> list[tuple[float, DeviceSample]]:
    found = []
    for sample in device.process.record.samples.get(device.device, ()):
        if sample.time is not None:
            found.append((sample.time, sample))
    return sorted(found, key=lambda pair: pair[0])


def _with_repeat(name: str, process: ProcessResult) -> str:
    return " ".join(filter(None, (name, process.record.repeat)))
