"""A `.data` file -> a `Record`: every version of milabench's, and ours; no defect is an error.

The files grow with the run, so a line is forgotten once it was looked at, and the lines of output,
which are most of a file, are not even parsed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .payload import add_payload
from .records import DefectKind, FileDefect, Record

KNOWN_WITHOUT_USE = frozenset({"phase", "line", "message", "ready", "begin"})
NOT_PARSED = b'{"event": "line", '
SENT_BADLY = {"format_error": DefectKind.FORMAT_ERROR, "binary": DefectKind.FORMAT_ERROR}


def read_events(path: Path) -> Record:
    """Everything in a `.data` file that a report uses, and what is wrong with the file."""
    reader = _EventReader(path)
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                reader.line(number, line)
    except OSError as error:
        reader.defect(DefectKind.UNREADABLE, None, error.strerror or str(error))
    return reader.finish()


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
    def __init__(self, path: Path) -> None:
        self.record = Record(path)
        self.lines = 0
        self.only: set[str] = set()
        self._defects: dict[tuple[DefectKind, str], FileDefect] = {}

    def defect(self, kind: DefectKind, line: int | None, detail: str = "") -> None:
        seen = self._defects.get((kind, detail))
        self._defects[kind, detail] = FileDefect(
            self.record.path,
            kind,
            seen.line if seen else line,
            seen.count + 1 if seen else 1,
            detail,
        )

    def line(self, number: int, line: bytes) -> None:
        self.lines = number
        if line.startswith(NOT_PARSED) and line.endswith(b"}\n"):
            self.only.add("line")
            return
        try:
            entry = json.loads(line.decode())
        except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are both of this kind
            self._garbled(number, line, error)
            return
        if not isinstance(entry, dict):
            self.defect(DefectKind.NOT_OBJECT, number)
        elif not isinstance(entry.get("event"), str):
            self.defect(DefectKind.NO_EVENT, number)
        else:
            self.only.add(entry["event"])
            self._event(number, entry["event"], entry.get("data"))

    def _garbled(self, number: int, line: bytes, error: ValueError) -> None:
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
        if event == "data":
            if isinstance(data, dict):
                add_payload(record, data, lambda kind: self.defect(kind, number))
            else:
                self.defect(DefectKind.BAD_EVENT, number)
        elif event == "stop":
            record.stopped = True
        elif event in ("config", "meta", "start", "end"):
            if isinstance(data, dict):
                self._milestone(number, event, data)
            elif event != "meta":
                self.defect(DefectKind.BAD_EVENT, number)
        elif event == "error":
            record.errors.append(data if isinstance(data, dict) else {"message": str(data)})
        elif event == "overseer_error":
            said = data if isinstance(data, dict) else {"message": data}
            detail = ": ".join(str(said[key]) for key in ("type", "message") if said.get(key))
            self.defect(DefectKind.INSTRUMENT, number, detail)
        elif event in SENT_BADLY:
            self.defect(SENT_BADLY[event], number)
        elif event not in KNOWN_WITHOUT_USE:
            self.defect(DefectKind.UNKNOWN_EVENT, number, event)

    def _milestone(self, number: int, event: str, data: dict[str, Any]) -> None:
        record = self.record
        if event == "config":
            record.config = data
        elif event == "meta":
            record.meta = record.meta or data
        elif event == "start":
            if record.start is not None:
                self.defect(DefectKind.TWO_STARTS, number)
            record.start = record.start or data
        else:
            if record.end is not None:
                self.defect(DefectKind.TWO_ENDS, number)
            record.end = data

    def finish(self) -> Record:
        record = self.record
        if any(kind is DefectKind.UNREADABLE for kind, _ in self._defects):
            pass  # nothing more can be said of it
        elif not self.lines:
            self.defect(DefectKind.EMPTY, None)
        elif not record.config:
            only = "it holds only `message` events" if self.only == {"message"} else ""
            self.defect(DefectKind.NO_CONFIG, None, only)
        elif not isinstance(record.config.get("name"), str):
            self.defect(DefectKind.NO_NAME, None)
        elif record.config["name"] == "remote" and record.config.get("definition") == ".":
            self.defect(DefectKind.LAUNCHER, None)
        elif record.start is None:
            self.defect(DefectKind.NO_START, None)
        record.defects = list(self._defects.values())
        return record
