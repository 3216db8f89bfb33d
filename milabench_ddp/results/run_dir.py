"""The run folder: every path in it, how it is made, and the lock that shows that the run is alive.

The process that runs a benchmark or a run holds its lock, and the kernel releases the lock with the
process. So a reader can tell a run that was cut off (SIGKILL, a power cut) from one that is alive,
from the folder alone. On a file system without locks, a run that has not ended counts as alive.
"""

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import escape
from pathlib import Path

from ..errors import RunDirError

_LOCK = ".alive"
_SUFFIXES = (".data", ".stdout", ".stderr")


@dataclass(frozen=True)
class RunDir:
    """``<base>/runs/<name>``: result files side by side as milabench has them, and ours."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.path.name

    @property
    def run_json(self) -> Path:
        """The header of the run: what it runs, where, by which jobs, and how it ended."""
        return self.path / "run.json"

    @property
    def plan_json(self) -> Path:
        """The plan of the run, for the agents of its nodes and for ``--resume``."""
        return self.path / "plan.json"

    def benchmark(self, name: str) -> Path:
        """The folder of a benchmark: its state, its script, its traces, its earlier attempts."""
        return self.path / name

    def state_json(self, benchmark: str) -> Path:
        """The state file of a benchmark."""
        return self.benchmark(benchmark) / "state.json"

    def job_json(self, job: str) -> Path:
        """The file of a Slurm job."""
        return self.path / "jobs" / f"{job}.json"

    @property
    def nodes(self) -> Path:
        """The folder with the logs and the states of the nodes."""
        return self.path / "nodes"

    def node_log(self, node: str) -> Path:
        """The output of a node's agent."""
        return self.nodes / f"{node}.log"

    def node_json(self, node: str) -> Path:
        """The state of a node."""
        return self.nodes / f"{node}.json"

    def data(self, tag: str) -> Path:
        """The events of a process."""
        return self.path / f"{tag}.data"

    def stream(self, tag: str, stream: str) -> Path:
        """The output of a process on ``stdout`` or ``stderr``."""
        return self.path / f"{tag}.{stream}"

    def script(self, benchmark: str) -> Path:
        """The bash script that repeats a benchmark."""
        return self.benchmark(benchmark) / "command.sh"


def create(base: Path, name: str | None) -> RunDir:
    """Make the folder of a new run.

    Raises:
        RunDirError: the name is taken or cannot name a folder, or the folder cannot be written.
    """
    name = default_name() if name is None else name
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise RunDirError(f"--name {name!r} cannot name a folder: leave out any `/`")
    path = base / "runs" / name
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


def make_folder(path: Path) -> None:
    """Make a folder of a run, unless it exists.

    Raises:
        RunDirError: it cannot be made.
    """
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise RunDirError(f"cannot make {path}: {error.strerror}") from error


@contextmanager
def alive(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, of a run or of a benchmark, as long as the block lasts.

    Raises:
        RunDirError: the folder cannot be written.
    """
    path = folder / _LOCK
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error
    try:
        with suppress(OSError):  # no locks on this file system
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        with suppress(OSError):  # without its lock the file says nothing
            path.unlink()
        os.close(fd)


def is_alive(folder: Path) -> bool:
    """Whether a process holds the lock of a folder, as far as can be known."""
    try:
        fd = os.open(folder / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def archive_attempt(run: RunDir, benchmark: str) -> None:
    """Move the result files of a benchmark to ``<benchmark>/attempts/<number>/``.

    Raises:
        RunDirError: they cannot be moved.
    """
    mine = []
    for path in run.path.glob(f"{escape(benchmark)}.*"):
        if path.suffix in _SUFFIXES and _belongs(path, benchmark):
            mine.append(path)
    if not mine:
        return
    attempts = run.benchmark(benchmark) / "attempts"
    try:
        attempts.mkdir(parents=True, exist_ok=True)
        attempt = attempts / str(1 + len(list(attempts.iterdir())))
        attempt.mkdir()
        for path in mine:
            path.rename(attempt / path.name)
    except OSError as error:
        raise RunDirError(f"cannot write {attempts}: {error.strerror}") from error


def _belongs(path: Path, benchmark: str) -> bool:
    """Whether a file belongs to this benchmark, not to one whose name begins with the same words.

    ``gpt.0.data`` is of ``gpt``; ``gpt.v2.0.data`` is of ``gpt.v2`` if there is such a folder.
    """
    words = path.stem.split(".")
    for count in range(len(words) - 1, 0, -1):
        name = ".".join(words[:count])
        if (path.parent / name).is_dir():
            return name == benchmark
    return False
