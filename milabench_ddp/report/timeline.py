"""A run as a timeline for ui.perfetto.dev: the steps of all ranks, their parts and waits.

The file has the Trace Event Format (JSON). Each process of a benchmark that timed its steps is a
process there, and each rank a track. Of a step the durations of its parts are known, not their
moments: parts are drawn in the order of training, and what a rank waited for communication in one
piece. The ranks' clocks may differ by anything: they are aligned by the ends of their
communication, which all ranks reach together, or of their steps where no rank tells that.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..errors import SelectionError, count_text
from ..grouping import grouped
from ..numerics import Floats, np
from ..results.rank import MOST, Rank
from ..results.records import Record
from ..samples import DeviceSample, sensors_of
from .finding import Finding
from .model import Report
from .process import ProcessResult
from .ranks.rank_launch import EXPOSED
from .replaceable import check_replaceable, whole
from .statistics.window import align

Event = Mapping[str, Any]  # of the format

HEAD = '{"displayTimeUnit": "ms", "otherData": '  # of every file
BEFORE = ("data", "forward", "forward_backward", "backward")  # the communication, in this order


class TraceTrack(Struct, frozen=True):
    """The steps of a rank, in ms since those of the first rank began."""

    rank: int
    node: str
    begins: Floats  # of each step, shape (n,)
    parts: Mapping[str, Floats]  # the duration of each part in each step, in the order of a step
    spread: float  # how far the moments that were aligned are apart still, in ms


def write_timeline(report: Report, path: Path, *, overwrite: bool = False) -> list[str]:
    """Write the timeline of benchmarks; returns a sentence on each process.

    Raises:
        SelectionError: no benchmark timed its steps.
        RunDirError: the file cannot be written.
    """
    processes = chain.from_iterable(row.processes for row in report.rows)
    shown = [process for process in processes if _timed(process.record)]
    if not shown:
        raise SelectionError("--timeline: no benchmark that was asked for has timed its steps")
    tracks = [tracks_of(process.record) for process in shown]
    known = [began for process in shown if (began := _began(process.record)) is not None]
    start = min(known, default=0.0)
    if not overwrite:
        check_replaceable(path, HEAD)
    with whole(path) as part, part.open("w") as file:
        told = json.dumps({"start": start, "unit": "seconds since the epoch"})
        file.write(f'{HEAD}{told}, "traceEvents": [')
        for number, event in enumerate(_events(shown, tracks, report.findings, start)):
            file.write(",\n" if number else "\n")
            json.dump(event, file, allow_nan=False)
        file.write("\n]}\n")
    return [_sentence(process.record, own) for process, own in zip(shown, tracks, strict=True)]


def tracks_of(record: Record) -> list[TraceTrack]:
    tracks: list[TraceTrack] = []
    reference = None
    for rank, told in sorted(_timed(record).items()):
        parts = {name: np.asarray(ms, np.float64) for name, ms in _parts(told).items()}
        whole = np.asarray(told.ms, np.float64)
        begins = np.cumsum(whole) - whole
        after = [name for name in parts if EXPOSED in parts and name not in (*BEFORE, EXPOSED)]
        ends = begins + whole - sum(parts[name] for name in after)
        reference = ends if reference is None else reference
        found = align(reference, ends)
        begins = begins + found.offsets
        parts = parts or {"step": whole}
        tracks.append(TraceTrack(rank, told.node, begins, parts, found.spread))
    return tracks


def _timed(record: Record) -> dict[int, Rank]:
    return {rank: told for rank, told in record.ranks.items() if len(told.ms)}


def _parts(told: Rank) -> dict[str, Sequence[float]]:
    parts = {"data": told.wait_ms, **told.parts}
    if not told.parts or any(len(ms) != len(told.ms) for ms in parts.values()):
        return {}
    order = [name for name in (*BEFORE, EXPOSED) if name in parts]
    order += [name for name in parts if name not in order]
    return {name: parts[name] for name in order}


def _events(
    processes: Sequence[ProcessResult],
    tracks: Sequence[list[TraceTrack]],
    findings: Sequence[Finding],
    start: float,
) -> Iterator[Event]:
    told_of = grouped((finding.benchmark, finding) for finding in findings)
    for pid, (process, own) in enumerate(zip(processes, tracks, strict=True), start=1):
        record = process.record
        began = _began(record)
        shift = 0.0 if began is None else 1e3 * (began - start)
        yield _named("process_name", pid, 0, {"name": f"{process.run.name}: {record.tag}"})
        yield _named("process_sort_index", pid, 0, {"sort_index": pid})
        for track in own:
            where = f" on {track.node}" if track.node else ""
            name = f"rank {track.rank}{where} (+-{track.spread:.3f} ms)"
            told = {"name": name, "spread_ms": track.spread}
            tid = _tid(pid, track)
            yield _named("thread_name", pid, tid, told)
            yield _named("thread_sort_index", pid, tid, {"sort_index": track.rank})
            yield from _steps(track, pid, shift)
        for finding in told_of.get(record.name, ()):
            said = {"sentence": finding.sentence, "severity": finding.severity}
            at = {"pid": pid, "tid": _tid(pid, own[0]), "ts": 1e3 * shift}
            yield {"ph": "i", "s": "p", "name": finding.name, **at, "args": said}
        for index, samples in record.samples.items():
            yield from _counters(f"{record.node} device {index}".lstrip(), samples, pid, start)


def _steps(track: TraceTrack, pid: int, shift: float) -> Iterator[Event]:
    """The steps of a rank, with their parts inside; in whole ns, so that they nest exactly."""
    at = {"ph": "X", "pid": pid, "tid": _tid(pid, track)}
    begins = np.rint((track.begins + shift) * 1e6).tolist()
    laps = np.cumsum([*track.parts.values()], axis=0)  # the ends of the parts in each step
    ends = np.rint(laps * 1e6)
    for step, begin in enumerate(begins):
        # Where the clocks drift, a step may seem to begin before the one before it has ended.
        room = begins[step + 1] - begin if step + 1 < len(begins) else ends[-1, step]
        own = np.minimum(ends[:, step], max(room, 0)).tolist()
        told = {"step": step, "ms": round(float(laps[-1, step]), 4)}
        yield {"name": "step", **at, "ts": begin / 1e3, "dur": own[-1] / 1e3, "args": told}
        last = 0
        for name, end in zip(track.parts, own, strict=True):
            if end > last and name != "step":
                yield {"name": name, **at, "ts": (begin + last) / 1e3, "dur": (end - last) / 1e3}
            last = end


def _counters(
    device: str, samples: Iterable[DeviceSample], pid: int, start: float
) -> Iterator[Event]:
    charted = [sensor for sensor in sensors_of(DeviceSample) if sensor.chart]
    for sample in samples:
        for sensor in charted:
            value = sensor.value(sample)
            if value is not None and sample.time is not None:
                unit, factor = sensor.charted
                name = f"{sensor.chart} ({unit})"
                at = {"ph": "C", "pid": pid, "ts": round(1e6 * (sample.time - start), 3)}
                yield {"name": f"{device} {name}", **at, "args": {name: factor * value}}


def _tid(pid: int, track: TraceTrack) -> int:
    """The number of a track: another one in each process, and not 0, which is the idle thread."""
    return 10_000 * pid + track.rank


def _named(kind: str, pid: int, tid: int, args: Mapping[str, object]) -> Event:
    return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args}


def _began(record: Record) -> float | None:
    """When the first measured step began, in seconds since the epoch; None if no line tells it."""
    seen = record.rates.load()
    began = seen.time - seen.elapsed
    began = began[~seen.warmup & (began >= 0) & (began < MOST)]
    return float(began.min()) if len(began) else None


def _sentence(record: Record, tracks: Sequence[TraceTrack]) -> str:
    steps = max(len(track.begins) for track in tracks)
    size = f"{record.tag}: {count_text(len(tracks), 'rank')}, {steps} steps"
    if len(tracks) < 2:
        return size
    spread = max(track.spread for track in tracks)
    what = "communication" if all(EXPOSED in track.parts for track in tracks) else "steps"
    return f"{size}, aligned by the ends of their {what}, which agree within {spread:.3f} ms"
