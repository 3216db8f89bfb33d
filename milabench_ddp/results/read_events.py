"""Reads a `.data` file, of milabench or of ours, into a `Record`; a defect is not an error.

The files grow with the run. So a line is dropped once it has been read, and lines of output, which
are most of a file, are not parsed.
"""

import gc
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..codec import convert, loads
from ..errors import reason_of
from ..files import open_file
from ..samples import DeviceProblem
from .add_lines import LineGroup, add_groups
from .defects import DefectKind, FileDefect
from .line_shapes import shape_of, skeleton
from .payload import NOT_NUMBERS, add_payload
from .records import Record

KNOWN_WITHOUT_USE = ("phase", "line", "message", "meta", "ready", "begin", "writers")
WRITTEN_BY_US = ("config", "start", "end")  # into no pipe: a program's are in `data`
NOT_PARSED = b'{"event": "line", '
AT_ONCE = 1 << 19  # bytes of lines
LONGEST = 1 << 26  # bytes of a line; after a loss of power a file may end with zeros without end
TOGETHER = 16  # lines of one shape: for fewer no decoder is made
MOST_ALONE = 64  # lines among the others: with more, each line is read by itself
_OUTPUT = skeleton(NOT_PARSED)
_GARBLED = object()


def read_events(path: Path) -> Record:
    """Everything in a `.data` file that a report uses, with the defects of the file."""
    reader = _EventReader(path)
    try:
        with open_file(path) as file, _without_garbage_collection():
            while block := file.read(AT_ONCE):
                rest = file.readline(LONGEST)
                if len(rest) < LONGEST:
                    reader.read_block(block + rest)
                    continue
                reader.read_block(block[: block.rfind(b"\n") + 1])
                reader.too_long()
                break
    except OSError as error:
        reader.defect(DefectKind.UNREADABLE, None, error.strerror or str(error))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug must not take the files of others along
        reader.defect(DefectKind.UNREADABLE, None, reason_of(error))
    else:
        reader.check_whole()
    reader.record.defects = sorted(reader.defects.values(), key=_place)
    return reader.record


def output_lines(path: Path, stream: str) -> Iterator[str]:
    """The lines of ``stream`` (stdout or stderr) that a `.data` file holds."""
    wanted = f'"pipe": "{stream}"}}'.encode()
    with open_file(path) as lines:
        while line := lines.readline(LONGEST):
            if line.startswith(NOT_PARSED) and line.rstrip().endswith(wanted):
                try:
                    text = loads(line)["data"]
                except (ValueError, KeyError):
                    continue
                if isinstance(text, str):
                    yield text


class _EventReader:
    """Reads one file, line by line, into ``record``; collects its defects in ``defects``."""

    def __init__(self, path: Path) -> None:
        self.record = Record(path)
        self.defects: dict[tuple[DefectKind, str], FileDefect] = {}
        self._lines = 0
        self._cut_off = 0  # the number of a last line without its end
        self._events: set[str] = set()  # the names of all events so far

    def defect(self, kind: DefectKind, line: int | None, detail: str = "", count: int = 1) -> None:
        """Note a defect; a repeated one only raises the count."""
        new = FileDefect(self.record.path, kind, line, 0, detail)
        known = self.defects.get((kind, detail), new)
        self.defects[kind, detail] = replace(known, count=known.count + count)

    def read_block(self, block: bytes) -> None:
        """Take the events of whole lines, or note their defects."""
        first = self._lines + 1
        lines, skeletons = block.split(b"\n"), skeleton(block).split(b"\n")
        if not lines[-1]:
            del lines[-1], skeletons[-1]
        else:
            self._cut_off = self._lines + len(lines)
        self._lines += len(lines)
        found: dict[bytes, list[int]] = defaultdict(list)
        for place, common in enumerate(skeletons):
            found[common].append(place)
        for common in [common for common in found if common.startswith(_OUTPUT)]:
            others = [k for k in found[common] if not _is_output(lines[k])]
            if len(others) < len(found[common]):
                self._events.add("line")
            found[common] = others
        groups, alone = _groups(lines, found)
        entries = {place: self._entry(first + place, lines[place]) for place in alone}
        in_series = {place for place, entry in entries.items() if _is_of_series(entry)}
        if len(in_series) > MOST_ALONE:
            for group in groups:
                for place in group.places.tolist():
                    entries[place] = self._entry(first + place, lines[place])
            groups = []
        begin = 0
        for place in sorted(entries):
            if place in in_series:
                self._add(first, groups, begin, place)
                begin = place
            if entries[place] is not _GARBLED:
                self._take(first + place, entries[place])
        self._add(first, groups, begin, len(lines))

    def too_long(self) -> None:
        """Note that the next line has no end, and is not read, nor are those after it."""
        self._lines += 1
        self.defect(DefectKind.TOO_LONG, self._lines)

    def _add(self, first: int, groups: Sequence[LineGroup], begin: int, end: int) -> None:
        """Add the lines of the groups from one place on, and before another."""
        if not groups:
            return
        self._events.add("data")
        again = add_groups(self.record, [group.between(begin, end) for group in groups])
        if len(again):
            self.defect(DefectKind.REPEATED_RATE, first + int(again[0]), count=len(again))

    def _entry(self, number: int, line: bytes) -> Any:
        """The JSON of a line; ``_GARBLED`` if it has none, which is noted."""
        try:
            return loads(line)
        except ValueError as error:  # UnicodeDecodeError is one, too
            self._garbled(number, line, error)
            return _GARBLED

    def _take(self, number: int, entry: Any) -> None:
        """Take the event of a line, or note a defect."""
        match entry:
            case {"event": str(event), "pipe": "data"} if event in WRITTEN_BY_US:
                self.defect(DefectKind.FORGED, number, event)
            case {"event": str(event)}:
                self._events.add(event)
                self._event(number, event, entry.get("data"))
            case dict():
                self.defect(DefectKind.NO_EVENT, number)
            case _:
                self.defect(DefectKind.NOT_OBJECT, number)

    def _garbled(self, number: int, line: bytes, error: Exception) -> None:
        """Note a line that cannot be decoded; an empty line is not a defect."""
        if not line.strip():
            return
        if number == self._cut_off:
            self.defect(DefectKind.CUT_OFF, number)
        elif isinstance(error, UnicodeDecodeError):
            self.defect(DefectKind.NOT_UTF8, number)
        else:
            self.defect(DefectKind.NOT_JSON, number)

    def _event(self, number: int, event: str, data: Any) -> None:
        record = self.record
        match event, data:
            case "data", dict():
                add_payload(record, data, lambda kind: self.defect(kind, number))
            case "config", dict():
                record.config = data
            case "start", dict():
                if record.start is not None:
                    self.defect(DefectKind.TWO_STARTS, number)
                record.start = record.start or data
            case "end", dict():
                if record.end is not None:
                    self.defect(DefectKind.TWO_ENDS, number)
                record.end = data
            case "device_problem", dict():
                self._device_problem(number, data)
            case "data" | "config" | "start" | "end" | "device_problem", _:
                self.defect(DefectKind.BAD_EVENT, number)
            case "meta", dict():
                record.meta = record.meta or data
            case "stop", _:
                record.stopped = True
            case "error", _:
                record.errors.append(data if isinstance(data, dict) else {"message": str(data)})
            case "overseer_error", _:
                said = data if isinstance(data, dict) else {"message": data}
                words = [str(said[key]) for key in ("type", "message") if said.get(key)]
                self.defect(DefectKind.INSTRUMENT, number, ": ".join(words))
            case "writers", {"ranks": list() as ranks, "opened": int() as opened}:
                record.told.see_writers({rank for rank in ranks if type(rank) is int}, opened)
            case "format_error" | "binary", _:
                self.defect(DefectKind.FORMAT_ERROR, number)
            case _ if event not in KNOWN_WITHOUT_USE:
                self.defect(DefectKind.UNKNOWN_EVENT, number, event)

    def _device_problem(self, number: int, data: dict[str, Any]) -> None:
        try:
            self.record.device_problems.append(convert(data, DeviceProblem))
        except ValueError:
            self.defect(DefectKind.BAD_EVENT, number)

    def check_whole(self) -> None:
        """After the last line: note the defects of the file as a whole."""
        config = self.record.config
        if not self._lines:
            self.defect(DefectKind.EMPTY, None)
        elif not config:
            only_messages = self._events == {"message"}
            detail = "it holds only `message` events" if only_messages else ""
            self.defect(DefectKind.NO_CONFIG, None, detail)
        elif not isinstance(config.get("name"), str):
            self.defect(DefectKind.NO_NAME, None)
        elif config["name"] == "remote" and config.get("definition") == ".":
            self.defect(DefectKind.LAUNCHER, None)
        elif self.record.start is None:
            self.defect(DefectKind.NO_START, None)


def _place(defect: FileDefect) -> float:
    """Its line; those of the file as a whole come last."""
    return math.inf if defect.line is None else defect.line


def _is_output(line: bytes) -> bool:
    return line.startswith(NOT_PARSED) and line.endswith(b"}")


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Without its looks at what is read here, which has no cycles: they take half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _groups(
    lines: Sequence[bytes], found: Mapping[bytes, list[int]]
) -> tuple[list[LineGroup], list[int]]:
    """The lines of each shape, and the places of those that are read one by one."""
    groups: list[LineGroup] = []
    alone: list[int] = []
    for common, places in found.items():
        shape = None
        if len(places) >= TOGETHER:
            shape = shape_of(common, lines[places[0]])
        if shape is None:
            alone += places
            continue
        batch = shape.batch([lines[place] for place in places])
        if batch is None:
            alone += [place for place in places if not shape.has(lines[place])]
            places = [place for place in places if shape.has(lines[place])]
            batch = shape.batch([lines[place] for place in places])
        if batch is None:  # none is left, or a number among them is too large for a column
            alone += places
            continue
        from ..numerics import np  # by files alone that are large enough to need it

        there, regular = np.array(places), batch.regular
        if not regular.all():
            alone += there[~regular].tolist()
            columns = {name: values[regular] for name, values in batch.columns.items()}
            groups.append(LineGroup(shape, there[regular], columns))
            continue
        groups.append(LineGroup(shape, there, batch.columns))
    return groups, sorted(alone)


def _is_of_series(entry: Any) -> bool:
    """Whether a line must be taken in its place among those with rates and numbers.

    All but those that hold only samples, step times and other things that are kept by themselves.
    """
    match entry:
        case {"event": "data", "data": dict(data)}:
            pass
        case _:
            return entry is not _GARBLED
    if not data.keys().isdisjoint(("rate", "train_rate", "loss")):
        return True
    numbers = (int, float, str, dict)
    return any(isinstance(data[key], numbers) for key in data.keys() - NOT_NUMBERS - {"task"})
