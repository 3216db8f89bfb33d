"""The run folder: every path in it, and how it is made."""

import errno
import os
import random
import time
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from glob import escape
from pathlib import Path

from msgspec import Struct

from ..codec import write_record
from ..errors import RunDirError, disk_errors, shortened
from ..files import replace_file
from ..in_time import in_time

_RESERVE = ".reserve"
_RESERVED = 1 << 16  # bytes: some twenty states
_STEP = 1 << 14  # bytes of them that are given back at once
PATIENCE = 30.0  # seconds; a disk that needs longer for a state hangs
_LONGEST_NAME = 255  # bytes, on Linux
_SUFFIXES = (".data", ".stdout", ".stderr", ".stacks")


class RunDir(Struct, frozen=True):
    """``<base>/runs/<name>``: result files side by side as milabench has them, and ours."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def run_json(self) -> Path:
        return self.path / "run.json"

    @property
    def plan_json(self) -> Path:
        return self.path / "plan.json"

    def benchmark(self, name: str) -> Path:
        """The folder of a benchmark: its state, its script, its traces, its attempts and probes."""
        return self.path / name

    def state_json(self, benchmark: str) -> Path:
        return self.benchmark(benchmark) / "state.json"

    def isolation_json(self, benchmark: str) -> Path:
        return self.benchmark(benchmark) / "isolation.json"

    def job_lock(self, job: str) -> Path:
        return self.path / f".{job}.alive"

    def node_lock(self, node: str, job: str = "") -> Path:
        return self.nodes / f".{node}{job}.alive"

    @property
    def nodes(self) -> Path:
        return self.path / "nodes"

    @property
    def traces(self) -> Path:
        """The folder of the second run, which traces the benchmarks with findings in this one."""
        return self.path / "traces"

    def traces_of(self, benchmark: str) -> list[Path]:
        return sorted(self.benchmark(benchmark).glob("*.trace.json"))

    def evidence(self, node: str) -> Path:
        return self.path / "evidence" / f"{node}.tar.gz"

    def node_log(self, node: str) -> Path:
        return self.nodes / f"{node}.log"

    def node_json(self, node: str) -> Path:
        return self.nodes / f"{node}.json"

    def data(self, tag: str) -> Path:
        return self.path / f"{tag}.data"

    def stream(self, tag: str, stream: str) -> Path:
        """The output of a process on ``stdout`` or ``stderr``, or its ``stacks`` when it hung."""
        return self.path / f"{tag}.{stream}"

    def script(self, benchmark: str) -> Path:
        return self.benchmark(benchmark) / "command.sh"


def create(base: Path, name: str | None) -> RunDir:
    name = default_name() if name is None else name
    if not names_a_file(name):
        raise RunDirError(
            f"--name {shortened(name)!r} cannot name a folder: give at most {_LONGEST_NAME} bytes "
            "of UTF-8, no `/` and nothing that cannot be seen, and is not `.` or `..`"
        )
    return create_folder(base / "runs" / name)


def names_a_file(name: str) -> bool:
    if name in ("", ".", "..") or "/" in name or not name.isprintable():
        return False
    return len(name.encode()) <= _LONGEST_NAME


def create_folder(path: Path) -> RunDir:
    try:
        path.mkdir(parents=True, exist_ok=False)
        probe = path / ".writable"
        probe.touch()  # a folder that cannot be written must fail now, not after the measurement
        probe.unlink()
    except FileExistsError:
        if path.is_dir():
            raise RunDirError(_taken(path)) from None
        raise RunDirError(
            f"cannot make {path}: a file is in the way; choose another --base"
        ) from None
    except OSError as error:
        raise RunDirError(
            f"cannot write {path}: {error.strerror}; choose a folder with --base or $MILABENCH_BASE"
        ) from error
    reserve(RunDir(path))
    return RunDir(path)


def _taken(path: Path) -> str:
    free = next(
        name for k in range(2, 10**6) if not (path.parent / (name := f"{path.name}-{k}")).exists()
    )
    return (
        f"the run {path.name!r} exists already in {path.parent}, and its results are not touched: "
        f"choose another name, for example --name {free}"
    )


def default_name() -> str:
    """``<a random word>.<date and time>``, as milabench names its runs."""
    pick = random.SystemRandom().choice
    word = "".join(pick("bdfghjklmnprstvz") + pick("aeiou") for _ in range(4))
    return f"{word}.{time.strftime('%Y-%m-%d_%H:%M:%S')}.{time.time_ns() // 1000 % 10**6:06d}"


def reserve(run: RunDir) -> None:
    """Reserve room on the disk, for the states of a run whose disk becomes full."""
    with suppress(OSError):  # the first state that is written reports a full disk
        replace_file(run.path / _RESERVE, bytes(_RESERVED + _for_header(run)))


def _for_header(run: RunDir) -> int:
    """Bytes of the reserve for the header, which says how the run ended."""
    try:
        return 2 * run.run_json.stat().st_size
    except OSError:
        return 0  # it is not written yet


def save_state(run: RunDir, path: Path, record: object) -> None:
    """Replace the file of a state of a run; on a full disk, in the room that ``reserve`` took.

    Raises:
        RunDirError: it cannot be written, the disk does not answer, or the folder of the run was
            moved away.
    """
    if not run.path.is_dir():
        raise RunDirError(f"cannot write {path}: {os.strerror(errno.ENOENT)}")
    if path.parent != run.path:
        _refuse_link(path.parent)
    while True:
        try:
            in_time(partial(write_record, path, record), PATIENCE)
        except TimeoutError:
            hangs = f"the disk has not answered for {PATIENCE:g} s"
            raise RunDirError(f"cannot write {path}: {hangs}") from None
        except RunDirError as error:
            cause = error.__cause__
            is_full = isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT)
            kept = 0 if path == run.run_json else _for_header(run)
            if not is_full or not _give_back(run, kept):
                raise
        else:
            return


def _give_back(run: RunDir, kept: int) -> bool:
    """Free some of the reserve, but keep so many bytes; return whether there was any to free."""
    try:
        fd = os.open(run.path / _RESERVE, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        size = os.fstat(fd).st_size
        if size <= kept:
            return False
        os.ftruncate(fd, max(size - _STEP, kept))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def make_folder(path: Path) -> None:
    with disk_errors("make", path):
        path.mkdir(exist_ok=True)
    _refuse_link(path)


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise RunDirError(f"cannot write {path}: it is a link, and is not followed")


def archive_attempt(run: RunDir, benchmark: str, kept: Collection[str] = ()) -> None:
    """Move the result files of a benchmark to ``<benchmark>/attempts/<number>/``."""
    mine = []
    for path in run.path.glob(f"{escape(benchmark)}.*"):
        if path.suffix in _SUFFIXES and path.stem not in kept and _belongs(run, path, benchmark):
            mine.append(path)
    if not mine:
        return
    attempts = run.benchmark(benchmark) / "attempts"
    make_folder(attempts.parent)
    make_folder(attempts)
    with disk_errors("write", attempts):
        attempt = attempts / str(1 + len(list(attempts.iterdir())))
        attempt.mkdir()
        for path in mine:
            path.rename(attempt / path.name)


def _belongs(run: RunDir, path: Path, benchmark: str) -> bool:
    """Whether a file belongs to this benchmark, not to one whose name begins with the same words.

    ``gpt.0.data`` is of ``gpt``; ``gpt.v2.0.data`` is of ``gpt.v2`` if there is such a folder.
    """
    words = path.stem.split(".")
    for count in range(len(words) - 1, 0, -1):
        folder = path.parent / ".".join(words[:count])
        if folder.is_dir():
            return folder == run.benchmark(benchmark)
    return False
