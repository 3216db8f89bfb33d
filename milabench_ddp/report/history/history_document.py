"""A history as a JSON document."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ...codec import about
from ..document import Document
from .history import ALPHA, Change, History
from .tracks import Track


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """A run."""

    name: str
    path: Path
    started: Annotated[float | None, about("when it began, since the epoch", "s")]


@dataclass(frozen=True, kw_only=True)
class OfTrack:
    """A benchmark, or a device in it against its peers."""

    benchmark: str
    device: Annotated[str | None, about("its UUID; null: not recorded, or of the benchmark")]
    node: Annotated[str | None, about("of the device; null: of the benchmark")]
    index: Annotated[str | None, about("of the device on its node; null: of the benchmark")]


@dataclass(frozen=True, kw_only=True)
class TrackReport(OfTrack):
    """A benchmark, or a device in it against its peers, over runs."""

    unit: Annotated[str, about("of the benchmark's rates")]
    run: Annotated[tuple[int, ...], about("the runs that have a value, by their numbers from 1")]
    rate: Annotated[tuple[float, ...] | None, about("of a benchmark: its rates in these runs")]
    ratio: Annotated[
        tuple[float, ...] | None, about("of a device: its ratios to the level of its first runs")
    ]


@dataclass(frozen=True, kw_only=True)
class ChangeReport(OfTrack):
    """That a benchmark, or a device against its peers, is slower or faster than before."""

    kind: Annotated[
        str,
        about("change, drift: many too small to be told, or back: to a level of more than once"),
    ]
    run: Annotated[int, about("the first run after it, from 1; of a drift the last of all")]
    name: Annotated[str, about("the name of that run")]
    started: Annotated[float | None, about("when that run began, since the epoch", "s")]
    previous: Annotated[int, about("the last run before it; of a drift the first of all")]
    unit: Annotated[str, about("of the benchmark's rates")]
    old: Annotated[float, about("the rate before it, or the ratio to the peers")]
    new: Annotated[float, about("the same after it")]
    ratio: Annotated[float, about("new over old")]
    ratio_low: Annotated[float, about("the lower end of its 95 % interval")]
    ratio_high: Annotated[float, about("the upper end")]
    differs: Annotated[tuple[str, ...], about("what differs between the runs before and after it")]


@dataclass(frozen=True, kw_only=True)
class HistoryDocument(Document):
    """What ``history`` tells."""

    runs: Annotated[tuple[RunReport, ...], about("in the order of time")]
    tracks: tuple[TrackReport, ...]
    changes: Annotated[tuple[ChangeReport, ...], about("those for the worse first, back last")]
    threshold: Annotated[float, about("the smallest change that is told, as a fraction")]
    alpha: Annotated[float, about("the probability of a false alarm about anything, ever")]
    notes: Annotated[tuple[str, ...], about("what is not in the tables, as sentences")]


def history_document(history: History) -> HistoryDocument:
    return HistoryDocument(
        runs=tuple(
            RunReport(name=run.name, path=run.path, started=run.started) for run in history.runs
        ),
        threshold=history.threshold,
        notes=history.notes,
        tracks=tuple(_track(track, history) for track in history.tracks),
        changes=tuple(change_report(change, history) for change in history.changes),
        alpha=ALPHA,
    )


def change_report(change: Change, history: History) -> ChangeReport:
    run = history.runs[change.run]
    return ChangeReport(
        **vars(_of_track(change.track)),
        kind=change.kind,
        run=change.run + 1,
        name=run.name,
        started=run.started,
        previous=change.before + 1,
        unit=change.track.unit,
        old=change.old,
        new=change.new,
        ratio=change.ratio,
        ratio_low=change.low,
        ratio_high=change.high,
        differs=change.differs,
    )


def _track(track: Track, history: History) -> TrackReport:
    is_device = track.device is not None
    return TrackReport(
        **vars(_of_track(track)),
        unit=track.unit,
        run=tuple(index + 1 for index in track.runs),
        rate=None if is_device else tuple(history.rates(track)),
        ratio=tuple(track.ratios) if is_device else None,
    )


def _of_track(track: Track) -> OfTrack:
    device = track.device
    return OfTrack(
        benchmark=track.benchmark,
        device=device.uuid or None if device else None,
        node=device.node if device else None,
        index=device.index if device else None,
    )
