"""The runs that a server shows: where they stand, and their reports."""

import hashlib
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from ...codec import encode_shown
from ...errors import RunDirError, counts_text, disk_errors
from ...events import Clock, Status
from ...hostlist import shown_nodes
from ...results.defects import ignore
from ...results.find_run import is_run, run_folders
from ...results.read_state import read_state
from ...results.run_dir import RunDir
from ...table import duration_text

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
MOST_REPORTS = 8  # that are kept


class Running(Struct, frozen=True):
    """A benchmark that runs."""

    name: str
    seconds: float | None  # since it began
    limit: float | None  # of each of its launches, in seconds
    nodes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        said = [f"{self.name} runs"]
        if self.nodes:
            said.append(f"on {shown_nodes(self.nodes)}")
        if self.seconds is not None:
            said.append(f"for {duration_text(self.seconds)}")
        if self.limit is not None:
            said.append(f"of at most {duration_text(self.limit)} a launch")
        return " ".join(said)


class Progress(Struct, frozen=True):
    """Where a run stands; its fields are the keys of the JSON."""

    name: str
    outcome: str | None  # None while it goes on; empty if its files do not tell, as milabench's
    seconds: float  # since it began, or how long it took; NaN: it is not known
    benchmarks: int
    ended: Mapping[str, int]  # benchmarks, by how they ended
    waiting: int
    running: tuple[Running, ...]
    failed: tuple[tuple[str, str], ...]  # the benchmarks that did not end ok, and why
    stamp: str  # differs where a benchmark has begun or ended since

    @property
    def sentence(self) -> str:
        said = [self.outcome or "how it ended is not recorded"]
        if self.outcome is None:
            said = [f"goes on, for {duration_text(self.seconds)}"]
        how = counts_text(self.ended)
        if self.benchmarks:
            of = f"{sum(self.ended.values())} of {self.benchmarks} benchmarks"
            said.append(f"{of} ({how})" if how else of)
        said += [each.sentence for each in self.running]
        if self.waiting:
            said.append(f"{self.waiting} waiting")
        return "; ".join(filter(None, said))


def progress_of(path: Path, now: float) -> Progress:
    """Where a run stands ``now``, which is in seconds since the epoch."""
    state = None
    with suppress(RunDirError):  # of a newer milabench: its report says so
        state = read_state(RunDir(path), ignore)
    if state is None:
        name = path.absolute().name.encode(errors="replace").decode()
        return Progress(name, "", math.nan, 0, {}, 0, (), (), "")
    header, benchmarks = state.header, list(state.benchmarks.values())
    counts = Counter(str(each.status) for each in benchmarks)
    running, failed = [], []
    for each in benchmarks:
        if each.status is Status.RUNNING:
            seconds = None if each.started is None else max(now - each.started, 0.0)
            limit = each.max_duration or None
            running.append(Running(each.name, seconds, limit, each.nodes))
        elif each.status.has_ended and each.status not in (Status.OK, Status.SKIPPED):
            failed.append((each.name, f"{each.status}: {each.reason}".removesuffix(": ")))
    known = [(each.name, str(each.status), len(each.launches)) for each in benchmarks]
    stamp = hashlib.sha256(repr((header.outcome, known)).encode(errors="replace"))
    end = now if header.outcome is None else header.ended or math.nan
    return Progress(
        name=header.name,
        outcome=None if header.outcome is None else str(header.outcome),
        seconds=max(end - header.created, 0.0),
        benchmarks=len(benchmarks),
        ended={each: counts[each] for each in Status if each.has_ended and counts[each]},
        waiting=counts[Status.WAITING],
        running=tuple(running),
        failed=tuple(failed),
        stamp=stamp.hexdigest()[:16],
    )


class Runs:
    """The runs that were named, those that have come since included, and their reports."""

    def __init__(
        self,
        words: Sequence[str],
        make: Callable[[Path], str],
        clock: Clock = time.time,
    ) -> None:
        self._words, self._clock = words, clock
        # a report is made anew where the files of its run are others
        self._report = lru_cache(MOST_REPORTS)(lambda path, _files: make(path))

    def folders(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in filter(is_run, run_folders(self._words)):
            name = _UNSAFE.sub("-", path.absolute().name).strip(".") or "run"
            key, count = name, 1
            while key in found:
                count += 1
                key = f"{name}~{count}"
            found[key] = path
        return found

    def progress_json(self, path: Path) -> bytes:
        now = self.progress(path)
        return encode_shown({"sentence": now.sentence, **asdict(now)})

    def progress(self, path: Path) -> Progress:
        return progress_of(path, self._clock())

    def report(self, path: Path) -> str:
        """The page of a run's report, made anew if its files have changed.

        Raises:
            MilabenchError: the run cannot be read.
        """
        return self._report(path, _files(path))


def _files(path: Path) -> Hashable:
    with disk_errors("read", path):
        found = []
        for each in (*path.iterdir(), *path.glob("*/state.json")):
            if not each.name.startswith("."):  # such as what a report keeps of what it has read
                told = each.stat()
                found.append((str(each), told.st_size, told.st_mtime_ns))
        return tuple(sorted(found))
