"""A history as a JSON document; the fields of a change are the columns of its CSV, too."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ..document import Document, document_type, several
from ..fields import Field, RecordType, values_of
from .history import ALPHA, Change, History
from .run_points import RunPoint
from .tracks import Track


class InHistory(Struct, frozen=True):
    """A track or a change, with the history that knows its runs."""

    history: History
    track: Track
    change: Change | None = None

    @property
    def run(self) -> RunPoint | None:
        return self.history.runs[self.change.run] if self.change else None


# fmt: off
OF_TRACK = (
    Field("benchmark", "", "track.benchmark", kind=str),
    Field("device", "its UUID; null: not recorded, or of the benchmark",
          lambda of: of.track.device and (of.track.device.uuid or None), kind=str | None),
    Field("node", "of the device; null: of the benchmark",
          lambda of: of.track.device and of.track.device.node, kind=str | None),
    Field("index", "of the device on its node; null: of the benchmark",
          lambda of: of.track.device and of.track.device.index, kind=str | None),
)
RUNS = RecordType(
    "RunReport",
    "A run.",
    [
        Field("name", "", kind=str),
        Field("path", "", kind=Path),
        Field("started", "when it began, since the epoch", unit="s", kind=float | None),
    ],
)
TRACKS = RecordType(
    "TrackReport",
    "A benchmark, or a device in it against its peers, over runs.",
    [
        *OF_TRACK,
        Field("unit", "of the benchmark's rates", "track.unit", kind=str),
        Field("run", "the runs that have a value, by their numbers from 1",
              lambda of: tuple(index + 1 for index in of.track.runs), kind=tuple[int, ...]),
        Field("rate", "of a benchmark: its rates in these runs",
              lambda of: None if of.track.device else tuple(of.history.rates(of.track)),
              kind=tuple[float, ...] | None),
        Field("ratio", "of a device: its ratios to the level of its first runs",
              lambda of: tuple(of.track.ratios) if of.track.device else None,
              kind=tuple[float, ...] | None),
    ],
)
CHANGES = RecordType(
    "ChangeReport",
    "That a benchmark, or a device against its peers, is slower or faster than before.",
    [
        *OF_TRACK,
        Field("kind", "change, drift: many too small to be told, or back: to a level of more than "
              "once", "change.kind", kind=str),
        Field("run", "the first run after it, from 1; of a drift the last of all",
              lambda of: of.change.run + 1, kind=int),
        Field("name", "the name of that run", "run.name", kind=str),
        Field("started", "when that run began, since the epoch", "run.started", "s",
              kind=float | None),
        Field("previous", "the last run before it; of a drift the first of all",
              lambda of: of.change.before + 1, kind=int),
        Field("unit", "of the benchmark's rates", "track.unit", kind=str),
        Field("old", "the rate before it, or the ratio to the peers", "change.old"),
        Field("new", "the same after it", "change.new"),
        Field("ratio", "new over old", "change.ratio"),
        Field("ratio_low", "the lower end of its 95 % interval", "change.low"),
        Field("ratio_high", "the upper end", "change.high"),
        Field("differs", "what differs between the runs before and after it", "change.differs",
              kind=tuple[str, ...]),
    ],
)
HISTORY = (
    Field("runs", "in the order of time", lambda history: RUNS.of_each(history.runs),
          kind=several(RUNS.type)),
    Field("tracks", "",
          lambda history: TRACKS.of_each(InHistory(history, each) for each in history.tracks),
          kind=several(TRACKS.type)),
    Field("changes", "those for the worse first, back last",
          lambda history: CHANGES.of_each(changes_of(history)), kind=several(CHANGES.type)),
    Field("threshold", "the smallest change that is told, as a fraction"),
    Field("alpha", "the probability of a false alarm about anything, ever", lambda _: ALPHA),
    Field("notes", "what is not in the tables, as sentences", kind=tuple[str, ...]),
)
# fmt: on
HistoryDocument = document_type("HistoryDocument", "What ``history`` tells.", HISTORY)


def changes_of(history: History) -> Iterator[InHistory]:
    for change in history.changes:
        yield InHistory(history, change.track, change)


def history_document(history: History) -> Document:
    return HistoryDocument(**values_of(HISTORY, history))
