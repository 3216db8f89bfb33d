"""Makes the lines of each step, rate, sample and event from the records of a run's processes."""

import math
from collections.abc import Iterator
from itertools import repeat

from ...results.records import Record, is_finite
from ...samples import DeviceSample, HostSample
from ..process import ProcessResult
from ..ranks.rank_summary import rank_id
from ..statistics.window import Window
from .lines import EventLine
from .read_runs import ReportedRun
from .series_lines import (
    HostSampleHead,
    HostSampleLine,
    RateLine,
    SampleHead,
    SampleLine,
    StepLine,
    exported,
)


def step_lines(of: ReportedRun) -> Iterator[StepLine]:
    """A line for each step of each rank."""
    for process in of.processes:
        record = process.record
        for number in sorted(record.ranks):
            yield from _steps(of, process, number)


def _steps(of: ReportedRun, process: ProcessResult, number: int) -> Iterator[StepLine]:
    record = process.record
    rank, id = record.ranks[number], rank_id(record, number)
    count = len(rank.ms)
    before = process.unsteady_of(count)

    def times(part: str) -> Iterator[float | None]:
        found = rank.wait_ms if part == "data" else rank.parts.get(part, ())
        if len(found) != count:  # it was not told in each step, so its steps are unknown
            return repeat(None, count)
        # they are kept in single precision; programs tell them to 0.1 us
        return (round(ms, 4) for ms in found)

    columns = zip(
        rank.ms,
        times("data"),
        times("forward"),
        times("backward"),
        times("forward_backward"),
        times("exposed_communication"),
        times("optimizer"),
        times("host"),
        strict=True,
    )
    for step, (ms, data, forward, backward, both, exposed, optimizer, host) in enumerate(columns):
        yield StepLine(
            run=of.folder,
            benchmark=record.name,
            tag=record.tag,
            repeat=record.repeat or None,
            node=id.node,
            job=id.job,
            rank=id.rank,
            step=step,
            steady=step >= before,
            ms=ms,
            wait_ms=data,
            forward_ms=forward,
            backward_ms=backward,
            forward_backward_ms=both,
            exposed_communication_ms=exposed,
            optimizer_ms=optimizer,
            host_ms=host,
        )


def rate_lines(of: ReportedRun) -> Iterator[RateLine]:
    """A line for each rate that a program told, also those of the warm-up."""
    from ...numerics import np

    for process in of.processes:
        record = process.record
        teller = of.tellers.get(record.job)
        seen = record.rates.load()
        steady = np.zeros(len(seen), bool)
        if teller is not None:
            for rank in np.unique(seen.rank):
                counted = (seen.counts & (seen.rank == rank)).nonzero()[0]
                steady[counted[teller.steady.start :]] = True
        times = np.where(np.isnan(seen.time), seen.arrived, seen.time)
        columns = (seen.rank, times, seen.rate, seen.steps, seen.warmup, steady)
        for place, line in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            rank, time, rate, steps, is_warmup, is_steady = line
            yield RateLine(
                run=of.folder,
                benchmark=record.name,
                tag=record.tag,
                repeat=record.repeat or None,
                rank=int(rank),
                place=place,
                time=None if math.isnan(time) else time,
                rate=rate if is_finite(rate) else None,
                unit=record.units,
                steps=None if math.isnan(steps) else int(steps),
                warmup=is_warmup,
                steady=is_steady,
            )


def sample_lines(of: ReportedRun) -> Iterator[SampleHead]:
    """A line for each sample of each device."""
    sensors = exported(DeviceSample)
    for process in of.processes:
        record, window = process.record, _window(of, process)
        for device, samples in record.samples.items():
            for sample in samples:
                yield SampleLine(
                    run=of.folder,
                    benchmark=record.name,
                    tag=record.tag,
                    repeat=record.repeat or None,
                    node=record.place[1],
                    device=device,
                    time=sample.time,
                    measured=_is_within(window, sample.time),
                    **{sensor.name: sensor.value(sample) for sensor in sensors},
                )


def host_sample_lines(of: ReportedRun) -> Iterator[HostSampleHead]:
    """A line for each sample of each host."""
    sensors = exported(HostSample)
    for process in of.processes:
        record, window = process.record, _window(of, process)
        for sample in record.host:
            yield HostSampleLine(
                run=of.folder,
                benchmark=record.name,
                tag=record.tag,
                repeat=record.repeat or None,
                node=record.place[1],
                time=sample.time,
                measured=_is_within(window, sample.time),
                **{sensor.name: sensor.value(sample) for sensor in sensors},
            )


def _window(of: ReportedRun, process: ProcessResult) -> Window | None:
    teller = of.tellers.get(process.record.job)
    return teller.window if teller else None


def _is_within(window: Window | None, time: float | None) -> bool:
    return window is not None and time is not None and window.begin <= time <= window.end


def event_lines(of: ReportedRun) -> Iterator[EventLine]:
    """What happened to each process, with the time where it is known."""
    for process in of.processes:
        record = process.record
        if record.start is not None:
            yield _event(of, record, "start", time=record.start.get("time"))
        for error in record.errors:
            words = [str(error[key]) for key in ("type", "message") if error.get(key)]
            rank = error.get("rank")
            yield _event(of, record, "error", text=": ".join(words), rank=rank)
        for problem in record.device_problems:
            when, device = problem.time or None, problem.device
            yield _event(of, record, "device_problem", when, text=problem.sentence, device=device)
        if process.verdict is not None:
            when = (record.end or {}).get("time")
            outcome, reason = str(process.verdict.outcome), process.verdict.reason
            yield _event(of, record, "end", when, text=reason, outcome=outcome)


def _event(
    of: ReportedRun,
    record: Record,
    kind: str,
    time: object = None,
    *,
    text: str = "",
    outcome: str | None = None,
    rank: object = None,
    device: int | None = None,
) -> EventLine:
    return EventLine(
        run=of.folder,
        benchmark=record.name,
        tag=record.tag,
        node=record.place[1],
        rank=rank if type(rank) is int else None,
        device=device,
        time=time if is_finite(time) else None,
        kind=kind,
        outcome=outcome,
        text=text,
    )
