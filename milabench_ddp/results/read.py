"""Reads a `.data` file, of milabench or of ours, into a `Record`; a defect is not an error.

Whole lines are decoded together, in blocks; where a block is damaged, its lines one by one.
"""

import gc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..codec import convert, loads
from ..errors import reason_of
from ..files import open_file
from ..metric_line import objects_in
from ..samples import DeviceProblem
from .defects import DefectKind, FileDefect
from .payload import PayloadReader
from .records import Payload, Record, error_text

KNOWN_WITHOUT_USE = ("phase", "line", "message", "meta", "ready", "begin", "writers")
WRITTEN_BY_US = ("config", "start", "end")  # into no pipe: a program's are in `data`
OUTPUT = b'{"event": "line", '  # need not be UTF-8
AT_ONCE = 1 << 19  # bytes of lines
USUAL = b'{"event": "data", "data": {'
LONGEST = 1 << 26  # bytes of a line; after a loss of power a file may end with zeros without end


class _Line(Struct, gc=False, forbid_unknown_fields=True):
    event: str
    data: Any = None
    pipe: Any = None


_DECODER = msgspec.json.Decoder(_Line)


def read_events(path: Path) -> Record:
    reader = _EventReader(path)
    was_on = gc.isenabled()
    try:
        gc.disable()  # lines make objects, and no garbage
        with open_file(path) as file:
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
    finally:
        if was_on:
            gc.enable()
    reader.record.defects = sorted(reader.defects.values(), key=lambda it: it.line or math.inf)
    return reader.record


def output_lines(path: Path, stream: str) -> Iterator[str]:
    wanted = f'"pipe": "{stream}"}}'.encode()
    with open_file(path) as lines:
        while line := lines.readline(LONGEST):
            if line.startswith(OUTPUT) and line.rstrip().endswith(wanted):
                try:
                    text = loads(line)["data"]
                except (ValueError, KeyError):
                    continue
                if isinstance(text, str):
                    yield text


class _EventReader:
    """Reads one file into ``record``; collects its defects in ``defects``."""

    def __init__(self, path: Path) -> None:
        self.record = Record(path)
        self.defects: dict[tuple[DefectKind, str], FileDefect] = {}
        self._payloads = PayloadReader(self.record)
        self._lines = 0
        self._events: set[str] = set()  # the names of all events so far

    def defect(self, kind: DefectKind, line: int | None, detail: str = "", count: int = 1) -> None:
        """Note a defect; a repeated one only raises the count."""
        new = FileDefect(self.record.path, kind, line, 0, detail)
        known = self.defects.get((kind, detail), new)
        self.defects[kind, detail] = replace(known, count=known.count + count)

    def read_block(self, block: bytes) -> None:
        first = self._lines + 1
        lines = objects_in(block, _DECODER, USUAL)
        if lines:
            self._lines += len(lines)
            self._take(range(first, first + len(lines)), lines)
            return
        raw = block.removesuffix(b"\n").split(b"\n")
        self._lines += len(raw)
        cut_off = 0 if block.endswith(b"\n") else self._lines
        found = dict(self._one_by_one(enumerate(raw, first), cut_off))
        self._take(list(found), list(found.values()))

    def too_long(self) -> None:
        """Note that the next line has no end, and is not read, nor are those after it."""
        self._lines += 1
        self.defect(DefectKind.TOO_LONG, self._lines)

    def _take(self, numbers: Sequence[int], lines: Sequence[_Line]) -> None:
        payloads: dict[int, Payload] = {}  # by the numbers of their lines
        for number, line in zip(numbers, lines, strict=True):
            if line.event == "data" and isinstance(line.data, dict):
                payloads[number] = line.data
                continue
            if line.event == "start" and self.record.start is None:
                self._take_payloads(payloads)  # it tells the rank of those after it
                payloads = {}
            self._events.add(line.event)
            if line.event in WRITTEN_BY_US and line.pipe == "data":
                self.defect(DefectKind.FORGED, number, line.event)
            else:
                self._event(number, line.event, line.data)
        self._take_payloads(payloads)

    def _take_payloads(self, payloads: Mapping[int, Payload]) -> None:
        if not payloads:
            return
        self._events.add("data")
        numbers = list(payloads)
        for kind, places in self._payloads.add(list(payloads.values())):
            if places:
                self.defect(kind, numbers[places[0]], count=len(places))

    def _one_by_one(
        self, lines: Iterable[tuple[int, bytes]], cut_off: int
    ) -> Iterator[tuple[int, _Line]]:
        """Those of the lines that are events; what the others are is noted.

        Args:
            lines: their numbers, and what stands in them.
            cut_off: the number of a last line without its end; else 0.
        """
        for number, line in lines:
            if line.startswith(OUTPUT) and line.endswith(b"}"):
                self._events.add("line")
                continue
            try:
                entry = loads(line)
            except ValueError as error:  # UnicodeDecodeError is one, too
                kind = DefectKind.NOT_JSON
                if number == cut_off:
                    kind = DefectKind.CUT_OFF
                elif isinstance(error, UnicodeDecodeError):
                    kind = DefectKind.NOT_UTF8
                if line.strip():  # an empty line is no defect
                    self.defect(kind, number)
                continue
            match entry:
                case {"event": str(event)}:
                    yield number, _Line(event, entry.get("data"), entry.get("pipe"))
                case dict():
                    self.defect(DefectKind.NO_EVENT, number)
                case _:
                    self.defect(DefectKind.NOT_OBJECT, number)

    def _event(self, number: int, event: str, data: object) -> None:
        record = self.record
        match event, data:
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
                try:
                    record.device_problems.append(convert(data, DeviceProblem))
                except ValueError:
                    self.defect(DefectKind.BAD_EVENT, number)
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
                self.defect(DefectKind.INSTRUMENT, number, error_text(said))
            case "writers", {"ranks": list() as ranks, "opened": int() as opened}:
                record.told.see_writers({rank for rank in ranks if type(rank) is int}, opened)
            case "format_error" | "binary", _:
                self.defect(DefectKind.FORMAT_ERROR, number)
            case _ if event not in KNOWN_WITHOUT_USE:
                self.defect(DefectKind.UNKNOWN_EVENT, number, event)

    def check_whole(self) -> None:
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
