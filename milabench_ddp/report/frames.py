"""The tables of each step, rate, sample and event of processes, as frames of polars.

They are not kept: those of a large run would fill the memory. ``results/tables.py`` has their
columns.
"""

from collections.abc import Iterator, Sequence
from itertools import starmap

from ..metric_line import LARGEST
from ..numerics import Frame, np
from ..results.records import error_text, is_finite
from ..results.tables import EVENTS, HOST_SAMPLES, RATES, SAMPLES, STEPS
from ..samples import DeviceSample, HostSample, sensors_of
from .monitored import with_tellers
from .process import Processes, ProcessResult
from .ranks.rank_summary import rank_id

Columns = dict[str, object]
Sample = DeviceSample | HostSample


def steps(processes: Processes) -> Frame:
    return STEPS.joined(part for process in processes for part in _steps(process))


def _steps(process: ProcessResult) -> Iterator[Columns]:
    record = process.record
    for number, rank in sorted(record.ranks.items()):
        id = rank_id(record, number)
        place = np.arange(len(rank.ms))
        steady = place >= process.unsteady_of(len(place))
        columns = _keys(process) | {
            "node": id.node,
            "job": id.job,
            "rank": id.rank,
            "step": place,
            "steady": steady,
            "ms": np.asarray(rank.ms),
        }
        for part, times in {**rank.parts, "wait": rank.wait_ms}.items():
            if len(times) == len(place):  # else not told in each step, so its steps are unknown
                # they are kept in single precision; programs tell them to 0.1 us
                columns[f"{part}_ms"] = np.round(np.asarray(times, np.float64), 4)
        yield columns


def rates(processes: Processes) -> Frame:
    """A line for each rate that a program told, also those of the warm-up."""
    return RATES.joined(starmap(_rates, with_tellers(processes)))


def _rates(process: ProcessResult, teller: ProcessResult | None) -> Columns:
    seen = process.record.rates.load()
    steady = np.zeros(len(seen), bool)
    if teller is not None:
        for rank in np.unique(seen.rank):
            counted = (seen.counts & (seen.rank == rank)).nonzero()[0]
            steady[counted[teller.steady.start :]] = True
    return _keys(process) | {
        "rank": seen.rank,
        "place": np.arange(len(seen)),
        "time": np.where(np.isnan(seen.time), seen.arrived, seen.time),
        "rate": np.where(np.abs(seen.rate) < LARGEST, seen.rate, np.nan),
        "unit": process.record.units,
        "steps": seen.steps,
        "warmup": seen.warmup,
        "steady": steady,
    }


def samples(processes: Processes) -> Frame:
    parts = []
    for process, teller in with_tellers(processes):
        for device, found in process.record.samples.items():
            parts.append({"device": device, **_samples(process, teller, found)})
    return SAMPLES.joined(parts)


def host_samples(processes: Processes) -> Frame:
    parts = []
    for process, teller in with_tellers(processes):
        if process.record.host:
            parts.append(_samples(process, teller, process.record.host))
    return HOST_SAMPLES.joined(parts)


def _samples(
    process: ProcessResult, teller: ProcessResult | None, found: Sequence[Sample]
) -> Columns:
    times = np.array([sample.time for sample in found], np.float64)
    window = teller.window if teller else None
    measured = window is not None and (window.begin <= times) & (times <= window.end)
    columns = _keys(process) | {"node": process.record.place[1], "time": times}
    for sensor in sensors_of(type(found[0])):
        columns[sensor.name] = [sensor.value(sample) for sample in found]
    return columns | {"measured": measured}


def events(processes: Processes) -> Frame:
    """What happened to each process, with the time where it is known."""
    lines = []
    for process in processes:
        about = _keys(process) | {"node": process.record.place[1]}
        for event in _events(process):
            time = event.get("time")
            lines.append({"text": "", **about, **event, "time": time if is_finite(time) else None})
    return EVENTS.frame_of_lines(lines)


def _events(process: ProcessResult) -> Iterator[Columns]:
    record, verdict = process.record, process.verdict
    if record.start is not None:
        yield {"kind": "start", "time": record.start.get("time")}
    for error in record.errors:
        rank = error.get("rank")
        rank = rank if type(rank) is int else None
        yield {"kind": "error", "text": error_text(error), "rank": rank}
    for problem in record.device_problems:
        yield {
            "kind": "device_problem",
            "text": problem.sentence,
            "device": problem.device,
            "time": problem.time or None,
        }
    if verdict is not None:
        yield {
            "kind": "end",
            "time": (record.end or {}).get("time"),
            "outcome": str(verdict.outcome),
            "text": verdict.reason,
        }


def _keys(process: ProcessResult) -> Columns:
    record = process.record
    return {
        "run": str(process.run.path),
        "benchmark": record.name,
        "tag": record.tag,
        "repeat": record.repeat or None,
    }
