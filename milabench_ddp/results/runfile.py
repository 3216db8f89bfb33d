"""``run.json``: what was run, on what, and how each benchmark ended.

History of the schema:
    1  the first
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import RunDirError
from ..events import Outcome
from .state import ProcessState

SCHEMA = 1


@dataclass
class LaunchState:
    """One repeat of a benchmark; skews in ms over its processes, None for fewer than two."""

    repeat: int | None
    outcome: Outcome
    reason: str
    start_skew_ms: float | None
    begin_skew_ms: float | None
    processes: list[ProcessState]
    nodes: list[str] = field(default_factory=list)  # where it ran; empty for this host alone


@dataclass
class BenchmarkState:
    """A benchmark of the run; ``outcome`` is also waiting or running until it has ended."""

    name: str
    outcome: str = "waiting"
    reason: str = ""
    started: float | None = None
    ended: float | None = None
    launches: list[LaunchState] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)  # where it runs; empty for this host alone
    cut_short: bool = False  # what ended it was no fault of its own: `--resume` runs it again


def benchmark_state(values: Mapping[str, Any]) -> BenchmarkState:
    """A benchmark's state, as it was written."""
    launches = [
        LaunchState(**{**each, "processes": [ProcessState(**p) for p in each["processes"]]})
        for each in values["launches"]
    ]
    return BenchmarkState(**{**values, "launches": launches})


@dataclass
class RunState:
    """The whole file."""

    name: str
    milabench: str
    created: float
    command: list[str]
    preset: str
    config: str
    machine: dict[str, Any]
    suite: dict[str, Any]
    skipped: list[dict[str, str]]
    benchmarks: list[BenchmarkState]
    outcome: Outcome | None = None  # None while it runs
    ended: float | None = None
    jobs: list[dict[str, Any]] = field(default_factory=list)  # of a cluster's scheduler
    schema: int = SCHEMA

    def save(self, path: Path) -> None:
        """Replace the file at once: a reader sees the old state or the new one, not half of it."""
        temporary = path.with_suffix(".json.tmp")
        try:
            with temporary.open("w") as out:
                json.dump(asdict(self), out, indent=1)
                out.write("\n")
                out.flush()
                os.fsync(out.fileno())
            temporary.replace(path)
        except OSError as error:
            raise RunDirError(f"cannot write {path}: {error.strerror}") from error


def read_state(path: Path) -> RunState:
    """The file, as it was written.

    Raises:
        RunDirError: it is not there, or is none of this version.
    """
    try:
        values = json.loads(path.read_text())
        states = [benchmark_state(each) for each in values["benchmarks"]]
        return RunState(**{**values, "benchmarks": states})
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RunDirError(f"{path} is no run.json of this version of milabench") from error
