"""The folder of one run: every path in it, and how it is made."""

import random
import time
from dataclasses import dataclass
from pathlib import Path

from ..errors import RunDirError


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
        """What was run, where, and how each benchmark ended."""
        return self.path / "run.json"

    @property
    def plan_json(self) -> Path:
        """What the run is to do: for node agents, and to resume it."""
        return self.path / "plan.json"

    def node_log(self, node: str) -> Path:
        """What the agent of a node has to say beside its results."""
        return self.path / "nodes" / f"{node}.log"

    def data(self, tag: str) -> Path:
        """The events of a process."""
        return self.path / f"{tag}.data"

    def stream(self, tag: str, stream: str) -> Path:
        """What a process printed on ``stdout`` or ``stderr``."""
        return self.path / f"{tag}.{stream}"

    def script(self, benchmark: str) -> Path:
        """The bash that repeats a benchmark."""
        return self.path / benchmark / "command.sh"


def create(base: Path, name: str | None) -> RunDir:
    """Make the folder of a new run.

    Raises:
        RunDirError: the name is taken or is no name of a folder, or the folder cannot be written.
    """
    name = default_name() if name is None else name
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise RunDirError(f"--name {name!r} is no name of a folder: leave out any `/`")
    path = base / "runs" / name
    try:
        path.mkdir(parents=True, exist_ok=False)
        probe = path / "run.json"
        probe.touch()  # a folder that cannot be written must fail now, not after the measurement
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
    """``<a word nobody has used>.<date and time>``, as milabench names its runs."""
    pick = random.SystemRandom().choice
    word = "".join(pick("bdfghjklmnprstvz") + pick("aeiou") for _ in range(4))
    return f"{word}.{time.strftime('%Y-%m-%d_%H:%M:%S')}.{time.time_ns() // 1000 % 10**6:06d}"
