"""Reads the result files of a run: large ones from their tables, which several processes make.

Without a run folder that takes tables, such as one that is read-only, or whose run goes on, they
are made for this report alone, in a temporary folder.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..files import open_file
from .read_events import read_events
from .records import Record
from .tables import fingerprint, load_table, save_table

SMALLEST = 2**20  # bytes of a result file that is worth a table
SHARED = 2**25  # bytes that are worth the start of other processes
MOST = 4  # processes: each takes memory, and the disk has one speed
_END = b'"event": "end"'
_LAST = 4096  # bytes


def read_files(files: Sequence[Path], folder: Path | None) -> list[Record]:
    """The records of result files, in the same order.

    Args:
        files: their paths.
        folder: where to keep tables of them; None: nowhere.
    """
    sizes = {file: size for file in files if (size := _size(file)) >= SMALLEST}
    records: dict[Path, Record] = {}
    if folder is not None:
        records = _loaded(list(sizes), folder)
    missing = {file: size for file, size in sizes.items() if file not in records}
    if missing and (folder is not None or sum(missing.values()) >= SHARED):
        with _place(folder) as place:
            _make_tables(missing, place)
            records |= _loaded(list(missing), place)
    return [records.get(file) or read_events(file) for file in files]


def has_ended(file: Path) -> bool:
    """Whether the end of a process stands in its result file."""
    with suppress(OSError), open_file(file) as data:
        data.seek(max(0, file.stat().st_size - _LAST))
        return _END in data.read()
    return False


def make_table(file: Path, place: Path) -> None:
    """Read a result file and keep its record in a table, unless that cannot be."""
    source = fingerprint(file)
    record = read_events(file)
    if source and source == fingerprint(file):  # nothing was written to it meanwhile
        with suppress(OSError, ValueError):
            save_table(_table(file, place), record, source)


def _table(file: Path, place: Path) -> Path:
    return place / f"{file.stem}.table"


def _loaded(files: Sequence[Path], place: Path) -> dict[Path, Record]:
    """The records of those files whose tables hold."""
    found = {file: load_table(_table(file, place), file) for file in files}
    return {file: record for file, record in found.items() if record is not None}


def _size(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder if it can be written, else a temporary one."""
    if folder is not None:
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
        if os.access(folder, os.W_OK) and not folder.is_symlink():
            yield folder
            return
    with tempfile.TemporaryDirectory(prefix="milabench-") as temporary:
        yield Path(temporary)


def _make_tables(sizes: Mapping[Path, int], place: Path) -> None:
    """Make the tables of files, whose sizes are given, in as many processes as are of use."""
    count = min(len(os.sched_getaffinity(0)), len(sizes), MOST)
    if count < 2 or sum(sizes.values()) < SHARED:
        for file in sizes:
            make_table(file, place)
        return
    shares: list[list[Path]] = [[] for _ in range(count)]
    loads = [0] * count
    for file in sorted(sizes, key=lambda file: sizes[file], reverse=True):
        least = loads.index(min(loads))
        shares[least].append(file)
        loads[least] += sizes[file]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "milabench_ddp.results.read_files", str(place)]
    children = []
    try:
        for share in shares:
            child = subprocess.Popen(
                command, env=env, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            children.append(child)
            assert child.stdin is not None
            with suppress(OSError), child.stdin:  # one that fails leaves its files to this process
                child.stdin.write(b"\0".join(map(os.fsencode, share)))
        for child in children:
            child.wait()
    finally:
        for child in children:
            child.kill()  # those that an interrupt has left
            child.wait()


if __name__ == "__main__":
    for name in sys.stdin.buffer.read().split(b"\0"):
        make_table(Path(os.fsdecode(name)), Path(sys.argv[1]))
