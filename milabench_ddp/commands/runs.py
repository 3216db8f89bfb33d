"""``milabench runs``: list runs, the newest first, and remove old ones."""

import shutil
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ..config.tree import default_base
from ..dispatch.follow import settle
from ..errors import MilabenchError, RunDirError, SelectionError, count_text
from ..files import disk_use
from ..options.reading import RunsOptions
from ..report.server.served_runs import progress_of
from ..results.find_run import begun, is_run, newest_first, not_a_run, not_there, run_folders
from ..results.lock import alive, goes_on
from ..results.run_dir import RunDir
from ..table import Column, Table, size_text, text_lines


class ListedRun(Struct, frozen=True):
    """A run folder, and what its state tells."""

    path: Path
    began: float  # seconds since the epoch
    last: float  # when it ended, or began if that is not known
    size: int  # bytes
    state: str  # how it ended, or that it goes on; empty if its files do not tell
    ok: int | None = None  # benchmarks
    failed: int | None = None

    @property
    def why_kept(self) -> str:
        """Why it must not be removed; empty if it may be."""
        if self.path.is_symlink():
            return "a link"
        return "" if self.state not in ("", _GOES_ON) else self.state or "not known to have ended"


_GOES_ON = "goes on"
_COLUMNS = (
    Column("run"),
    Column("began (UTC)"),
    Column("state"),
    Column("ok", "d"),
    Column("failed", "d"),
    Column("size", right=True),
    Column("kept", unknown=""),
)


def main(options: RunsOptions) -> int:
    if options.remove and not options.runs and options.older_than is None:
        raise SelectionError("--remove: which runs? name them, or say --older-than, such as 30d")
    home = default_base() / "runs"
    folders = [path for path in run_folders(options.runs or [home]) if path != home]
    for path in folders:
        if not is_run(path):
            raise RunDirError(not_a_run(path) if path.is_dir() else not_there(path))
    found = [listed(path) for path in newest_first(folders)]
    if options.older_than is not None:
        found = [run for run in found if run.last < time.time() - options.older_than]
    if not found:
        print("no run is so old" if folders else f"no runs in {home.absolute()}")
        return 0
    is_removal = options.remove or options.older_than is not None
    columns = _COLUMNS if is_removal and any(run.why_kept for run in found) else _COLUMNS[:-1]
    rows = [_row(run, home)[: len(columns)] for run in found]
    for line in text_lines(Table(columns, tuple(rows)), "  "):
        print(line)
    if is_removal:
        _remove([run for run in found if not run.why_kept], options)
    return 0


def _row(run: ListedRun, home: Path) -> tuple[object, ...]:
    name = run.path.name if run.path.parent == home else str(run.path)
    began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.began)) if run.began else None
    size = size_text(run.size)
    return name, began, run.state or None, run.ok, run.failed, size, run.why_kept or None


def listed(path: Path) -> ListedRun:
    with suppress(MilabenchError):  # of its jobs some may have ended meanwhile
        settle(RunDir(path))
    began, (size, _) = begun(path), disk_use(path)
    found = progress_of(path, time.time())
    state = _GOES_ON if found.outcome is None or found.running else found.outcome
    counts = (found.ended.get("ok", 0), len(found.failed)) if state else (None, None)
    took = found.seconds if found.seconds > 0 else 0.0  # NaN is not
    return ListedRun(path, began, began + took, size, state, *counts)


def _remove(runs: Sequence[ListedRun], options: RunsOptions) -> None:
    what = f"{count_text(len(runs), 'run')}, {size_text(sum(run.size for run in runs))}"
    if not options.remove or not runs:
        print(f"\n--remove would remove {what}" if runs else "\nnothing to remove")
        return
    if not options.yes:
        if not sys.stdin.isatty():
            raise SelectionError(f"--remove would remove {what}: add --yes without a terminal")
        print(f"\nRemove {what}? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("nothing was removed")
            return
    for run in runs:
        with alive(run.path) as is_mine:
            if not is_mine:
                raise RunDirError(goes_on(run.path))
            shutil.rmtree(run.path.absolute())
    print(f"removed {what}")
