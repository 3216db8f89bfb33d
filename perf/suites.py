"""Suites of small programs, and runs of them by the real command."""

import itertools
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .paired import MILABENCH, FailedRunError, run

PROGRAMS = Path(__file__).with_name("programs")


@dataclass(frozen=True)
class Ran:
    """A run that has ended."""

    folder: Path
    seconds: float  # wall time of the command

    def state(self, benchmark: str = "b") -> Mapping[str, Any]:
        """The state of a benchmark."""
        found: Mapping[str, Any] = json.loads((self.folder / benchmark / "state.json").read_text())
        return found

    def processes(self, benchmark: str = "b") -> Sequence[Mapping[str, Any]]:
        """The states of the processes of a benchmark's only launch."""
        (launch,) = self.state(benchmark)["launches"]
        found: Sequence[Mapping[str, Any]] = launch["processes"]
        return found

    def data(self) -> list[Path]:
        """The result files of its processes."""
        return sorted(self.folder.glob("*.data"))

    def remove(self) -> None:
        """Remove its folder."""
        shutil.rmtree(self.folder)


@dataclass(frozen=True)
class Suite:
    """Benchmarks of one program, each of a process for each of ``devices`` CPU slots."""

    folder: Path
    program: str  # the name of a file in ``programs``
    argv: Sequence[str] = ()
    devices: int = 1
    max_duration: float = 600.0
    names: Sequence[str] = ("b",)
    outcome: str = "ok"  # that of each benchmark
    options: Sequence[str] = ()  # of ``milabench run``
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def command(self, name: str) -> list[str]:
        """The command of a run with this name."""
        benchmark = {
            "program": str(PROGRAMS / self.program),
            "plan": {"method": "per_gpu"},
            "argv": list(self.argv),
            "max_duration": self.max_duration,
        }
        self.folder.mkdir(exist_ok=True)
        config = self.folder / "suite.yaml"
        config.write_text(json.dumps(dict.fromkeys(self.names, benchmark)))  # JSON is YAML
        options = ["--device", "cpu", "--gpus", str(self.devices), "--base", str(self.folder)]
        return [*MILABENCH, "run", str(config), "--name", name, *options, *self.options]

    def next_folder(self) -> Path:
        """The folder of the next run."""
        return self.folder / "runs" / f"run-{next(self._numbers)}"

    def run(self, folder: Path | None = None, core: int | None = None) -> Ran:
        """Run it.

        Args:
            folder: what ``next_folder`` gave.
            core: all processes run on this core alone.

        Raises:
            FailedRunError: a benchmark ended in another way than it should.
        """
        folder = folder or self.next_folder()
        done = run(self.command(folder.name), core)
        ran = Ran(folder, done.seconds)
        for name in self.names:
            if not (folder / name).exists() or ran.state(name)["status"] != self.outcome:
                raise FailedRunError(f"{folder / name} did not end {self.outcome}:\n{done.said}")
        return ran


def python(program: str, *argv: object) -> list[str]:
    """The command of one of the programs."""
    return [sys.executable, str(PROGRAMS / program), *map(str, argv)]
