"""Reads a `.data` file, of milabench or of ours, into a `Record`; a defect is not an error.

The files grow with the run. So a line is dropped once it has been read, and lines of output, which
are most of a file, are not parsed.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..codec import convert
from ..samples import DeviceProblem
from .defects import DefectKind, FileDefect
from .payload import add_payload
from .records import Record

KNOWN_WITHOUT_USE = ("phase", "line", "message", "meta", "ready", "begin", "writers")
NOT_PARSED = b'{"event": "line", '


def read_events(path: Path) -> Record:
    """Everything in a `.data` file that a report uses, with the defects of the file."""
    reader = _EventReader(path)
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                reader.read_line(number, line)
    except OSError as error:
        reader.defect(DefectKind.UNREADABLE, None, error.strerror or str(error))
    else:
        reader.check_whole()
    reader.record.defects = list(reader.defects.values())
    return reader.record


def output_lines(path: Path, stream: str) -> Iterator[str]:
    """The lines of ``stream`` (stdout or stderr) that a `.data` file holds."""
    wanted = f'"pipe": "{stream}"}}'.encode()
    with path.open("rb") as lines:
        for line in lines:
            if line.startswith(NOT_PARSED) and line.rstrip().endswith(wanted):
                try:
                    text = json.loads(line)["data"]
                except ValueError:
                    continue
                if isinstance(text, str):
                    yield text


class _EventReader:
    """Reads one file, line by line, into ``record``; collects its defects in ``defects``."""

    def __init__(self, path: Path) -> None:
        self.record = Record(path)
        self.defects: dict[tuple[DefectKind, str], FileDefect] = {}
        self._lines = 0
        self._events: set[str] = set()  # the names of all events so far

    def defect(self, kind: DefectKind, line: int | None, detail: str = "") -> None:
        """Note a defect; a repeated one only raises the count."""
        new = FileDefect(self.record.path, kind, line, 0, detail)
        known = self.defects.get((kind, detail), new)
        self.defects[kind, detail] = replace(known, count=known.count + 1)

    def read_line(self, number: int, line: bytes) -> None:
        """Take the event of a line, or note a defect."""
        self._lines = number
        if line.startswith(NOT_PARSED) and line.endswith(b"}\n"):
            self._events.add("line")
            return
        try:
            entry = json.loads(line.decode())
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are both of this kind
            self._garbled(number, line, error)
            return
        match entry:
            case {"event": str(event)}:
                self._events.add(event)
                self._event(number, event, entry.get("data"))
            case dict():
                self.defect(DefectKind.NO_EVENT, number)
            case _:
                self.defect(DefectKind.NOT_OBJECT, number)

    def _garbled(self, number: int, line: bytes, error: ValueError) -> None:
        """Note a line that cannot be decoded; an empty line is not a defect."""
        if not line.strip():
            return
        if not line.endswith(b"\n"):
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
