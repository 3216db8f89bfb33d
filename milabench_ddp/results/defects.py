"""Defects of result files: what is wrong with them, and where."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from ..codec import convert, loads
from ..errors import shortened
from ..files import read_bytes

T = TypeVar("T")
OnDefect = Callable[[Path, OSError | ValueError], None]
"""Gets the path of a damaged file, and the error that reading it raised."""


class DefectKind(StrEnum):
    """The kinds of defect of a result file; each value is the text of its message."""

    UNREADABLE = "cannot be read"
    EMPTY = "is empty: ignored"
    NO_CONFIG = "has no `config` event: ignored"
    LAUNCHER = "is the log of milabench's launcher for remote machines: ignored"
    NO_NAME = "its `config` event has no name: ignored"
    CUT_OFF = "the last line is cut off: ignored"
    TOO_LONG = "is longer than 64 MiB: it and the rest of the file are ignored"
    NOT_UTF8 = "is not UTF-8: ignored"
    NOT_JSON = "is not JSON: ignored"
    NOT_OBJECT = "is not a JSON object: ignored"
    NO_EVENT = "has no `event`: ignored"
    BAD_EVENT = "its event does not have the known form: ignored"
    BAD_RATE = "its rate is not a usable number: left out"
    REPEATED_RATE = "is written twice: left out"
    BAD_STEP_COUNT = "its `steps` is not a positive whole number: ignored"
    BAD_SAMPLE = "its sample of a device or host does not have the known form: left out"
    BAD_STEPS = "its step times are not usable numbers: left out"
    BAD_BUCKETS = "its buckets of gradients are not usable: left out"
    BAD_COLLECTIONS = "its garbage collections are not usable: left out"
    UNKNOWN_EVENT = "its event is unknown: ignored"
    FORGED = "a program sent an event that is not its own: ignored"
    FORMAT_ERROR = "the program sent a line of metrics that is not an event"
    INSTRUMENT = "an instrument failed"
    TWO_STARTS = "starts again: two runs were written into one file"
    TWO_ENDS = "ends twice: two runs were written into one file"
    NO_START = "has no `start` event"
    BAD_STATE = "is not a state that this version can read: ignored"


class FileDefect(Struct, frozen=True):
    """A defect of a file: where it first occurs, and how often."""

    path: Path
    kind: DefectKind
    line: int | None = None  # of the first one, from 1; None: the file as a whole
    count: int = 1
    detail: str = ""

    def __str__(self) -> str:
        where = str(self.path) if self.line is None else f"{self.path}:{self.line}"
        what = f"{self.kind} ({shortened(self.detail)})" if self.detail else str(self.kind)
        again = f"; and {self.count - 1} more" if self.count > 1 else ""
        return f"{where}: {what}{again}"


def ignore(_path: Path, _error: OSError | ValueError) -> None:
    """Take a damaged file for none: it is written again."""


def read_unless_damaged(path: Path, kind: type[T], on_defect: OnDefect) -> T | None:
    """The record in a file; None if there is none, or it is damaged, as ``on_defect`` is told."""
    try:
        return convert(loads(read_bytes(path)), kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        on_defect(path, error)
        return None
