"""The last events of result files that other processes write: for a display, not for a report."""

from collections.abc import Iterator
from glob import escape
from pathlib import Path

from ..codec import loads
from ..events import Data, Ended, Event, Note, Outcome, Started
from ..files import open_file
from .run_dir import RunDir

LAST = 1 << 16  # bytes of a file that are looked at, since the display shows the latest alone
MOST = 128  # files of a benchmark: enough for 16 nodes of 8 GPUs


class Tail:
    """Reads what has been added to the result files of a run since it was last asked."""

    def __init__(self, run: RunDir) -> None:
        self._run = run
        self._read: dict[Path, int] = {}  # bytes

    def events(self, benchmark: str) -> Iterator[Event]:
        paths = sorted(self._run.path.glob(f"{escape(benchmark)}.*.data"))
        for path in paths[:MOST]:
            for line in self._new_lines(path):
                if event := _event(path.name.removesuffix(".data"), line):
                    yield event

    def _new_lines(self, path: Path) -> list[bytes]:
        """The whole lines among the last bytes; a line that is not whole yet is read later."""
        start = self._read.get(path, 0)
        try:
            size = path.stat().st_size
            if size < start:
                start = 0  # it is another file: an earlier attempt was set aside
            with open_file(path) as file:
                file.seek(max(start, size - LAST))
                found = file.read(LAST)
                is_cut = file.tell() - len(found) > start
        except OSError:
            return []
        whole, newline, _ = found.rpartition(b"\n")
        if not newline:
            return []
        self._read[path] = max(start, size - LAST) + len(whole) + 1
        lines = whole.split(b"\n")
        return lines[1:] if is_cut else lines


def _event(tag: str, line: bytes) -> Event | None:
    """The event of a line, as far as a display shows it; not its moment, nor how it ended."""
    try:
        entry = loads(line)
    except ValueError:
        return None
    match entry:
        case {"event": "data", "data": dict() as payload}:
            return Data(tag, 0.0, payload)
        case {"event": "start"}:
            return Started(tag, 0.0, 0, ())
        case {"event": "ready" | "begin" as kind}:
            return Note(tag, 0.0, kind, {})
        case {"event": "end"}:
            return Ended(tag, 0.0, 0, Outcome.OK, "")
    return None
