"""The real command in a process of its own, in a folder with small programs."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from milabench_ddp.results.read_state import require_state
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import RunState
from tests.support.wait import PATIENCE

EMIT = """
import json, os, sys, time

def emit(**data):
    with open(os.environ.get("MILABENCH_METRICS", "/dev/stdout"), "a") as channel:
        channel.write(json.dumps(data) + "\\n")

def rate(value, **more):
    emit(task="train", rate=value, units="items/s", **more)
"""
GOOD = EMIT + "for step in range(20): rate(100.0 + step % 3)"


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def row(out: str, name: str) -> list[str]:
    """The name of a benchmark, its failures and its processes, by the main table of a report."""
    table = out[out.index("\nbenchmark ") :].split("\n\n")[0]
    header, *rows = ([cell.strip() for cell in line.split("|")] for line in table.split("\n")[1:])
    (found,) = (cells for cells in rows if cells[0] == name)
    cells = {"fail": "0", **dict(zip(header, found, strict=False))}
    return [name, cells["fail"], cells["n"]]


class Workplace:
    """A folder with configurations and programs, and the command in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def start(self, *words: str, **options: object) -> subprocess.Popen[str]:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        return subprocess.Popen(
            [sys.executable, "-m", "milabench_ddp", *words],
            cwd=self.folder,
            text=True,
            env=self.environment(),
            **options,  # type: ignore[call-overload]
        )

    def environment(self) -> dict[str, str]:
        # Unbuffered, a write to a pipe without a reader may be cut short without an error.
        env = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
        return {**env, "MILABENCH_BASE": str(self.folder / "base"), "COLUMNS": "400"}

    def milabench(self, *words: str) -> Done:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=PATIENCE)
        return Done(process.returncode, out, err)

    def run(self, name: str = "mine") -> Path:
        return self.folder / "base" / "runs" / name

    def state(self, name: str = "mine") -> RunState:
        """The state of a run and its benchmarks, as every command reads it."""
        return require_state(RunDir(self.run(name)))

    def statuses(self, name: str = "mine") -> dict[str, str]:
        """The status of each benchmark of a run."""
        return {each.name: str(each.status) for each in self.state(name).benchmarks.values()}


Suite = Callable[..., str]
