"""Sweeps of tiny programs on a cluster: started as a user starts them, and what became of them."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from milabench_ddp.results.read_state import require_state
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, RunState

from .live import PATIENCE, REPOSITORY, LiveCluster

PROGRAM = """\
\"\"\"Counts its start, reports rates, and ends as its first word says.\"\"\"
import json, os, pathlib, socket, sys, time

kind, name = sys.argv[1:]
here = pathlib.Path(__file__).parent
with (here / "starts").open("a") as out:
    out.write(f"{name} {socket.gethostname()}\\n")
with open(os.environ["MILABENCH_METRICS"], "a") as out:
    def rates(count):
        for _ in range(count):
            line = {"task": "train", "rate": 100.0, "units": "items/s"}
            out.write(json.dumps(line) + "\\n")
            out.flush()
            time.sleep(0.2)

    rates(5)
    match kind:
        case "raises":
            raise RuntimeError("out of luck")
        case "hangs":
            time.sleep(600)
        case "held":  # until the gate is opened
            while not (here / "open").exists():
                rates(1)
"""
TOP = """\
_tiny:
  program: program.py
  plan: {method: per_gpu}
  weight: 1
  max_duration: 300
"""
MATRIX = """
KIND:
  matrix: {model: [KIND], nodes: NODES}
  job:
    name: '{model}-{nodes}'
    inherits: _tiny
    num_machines: '{nodes}'
    argv: [KIND, '{model}-{nodes}']
    max_duration: LIMIT
"""
LIMITS = {"hangs": 5}


class Sweep:
    """A configuration in a folder of its own, and one run of it.

    Args:
        cluster: where it runs.
        folder: of its files; the run's is ``runs/sweep`` in it.
        sizes: the node counts for each kind of program: quick, held, raises or hangs.
        profile: what its runner's profile says beside the partition.
    """

    def __init__(
        self,
        cluster: LiveCluster,
        folder: Path,
        sizes: Mapping[str, Sequence[int]],
        **profile: object,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.cluster, self.folder, self.run = cluster, folder, folder / "runs" / "sweep"
        (folder / "program.py").write_text(PROGRAM)
        text = TOP
        for kind, nodes in sizes.items():
            limit = str(LIMITS.get(kind, 300))
            text += (
                MATRIX.replace("KIND", kind)
                .replace("LIMIT", limit)
                .replace("NODES", str(list(nodes)))
            )
        self.config = folder / "sweep.yaml"
        self.config.write_text(text)
        self.profile = folder / "runner.yaml"
        most = max(max(nodes) for nodes in sizes.values())
        self._commands: list[subprocess.Popen[str]] = []
        says = {"kind": "slurm", "partition": "train", "timeout": 5, "nodes": most, **profile}
        self.profile.write_text("".join(f"{key}: {value}\n" for key, value in says.items()))

    # The command.

    def begin(self, *options: str | Path, **environ: str) -> subprocess.Popen[str]:
        """Start ``milabench run`` of it; its standard output and error are pipes."""
        words = ["run", self.config, "--runner", self.profile, "--device", "cpu", "--gpus", "1"]
        words += ["--base", self.folder, "--name", "sweep"]
        return self.milabench(*words, *options, **environ)

    def milabench(self, *argv: str | Path, **environ: str) -> subprocess.Popen[str]:
        """Start a command of milabench on the login node, where no signal of ours reaches it."""
        of_own = {"MILABENCH_BASE": str(self.folder), "COLUMNS": "2000"}  # no sentence is wrapped
        command = subprocess.Popen(
            [sys.executable, "-m", "milabench_ddp", *argv],
            env={**self.cluster.env, **of_own, **environ},
            cwd=REPOSITORY,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._commands.append(command)
        return command

    def close(self) -> None:
        """End what a test that failed has left."""
        for command in self._commands:
            command.kill()
            command.communicate()

    def resume(self) -> str:
        """Do what is missing, which must go well; the report."""
        self.open()
        code, out, err = ended(self.milabench("run", "--resume", self.run))
        assert code == 0, out + err
        return out

    def table(self) -> str:
        """``report --table``, as it is now."""
        return ended(self.milabench("report", self.run, "--table", "throughput"))[1]

    # What becomes of it.

    def open(self) -> None:
        """Let the held programs end."""
        (self.folder / "open").touch()

    def starts(self) -> Counter[str]:
        """How many processes of each benchmark were started: one on each of its nodes."""
        path = self.folder / "starts"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter(line.split()[0] for line in lines)

    def state(self) -> RunState:
        """How the run and its benchmarks fare, as every command reads it."""
        return require_state(RunDir(self.run))

    def benchmarks(self) -> Mapping[str, BenchmarkState]:
        """All that is known of each benchmark."""
        return self.state().benchmarks

    def states(self) -> dict[str, str]:
        """The status of each benchmark."""
        return {name: str(benchmark.status) for name, benchmark in self.benchmarks().items()}

    def reason(self, name: str) -> str:
        """Why a benchmark ended as it did."""
        return self.benchmarks()[name].reason

    def jobs(self) -> list[str]:
        """The ids of its jobs; none before it has begun."""
        if not (self.run / "run.json").exists():
            return []
        return [job.id for job in self.state().header.jobs]

    def await_states(self, timeout: float = PATIENCE, **wanted: str) -> None:
        """Wait until benchmarks have such states; ``held_2`` means ``held-2``."""
        expected = {"-".join(name.rsplit("_", 1)): state for name, state in wanted.items()}

        def there() -> bool:
            return (self.run / "run.json").exists() and expected.items() <= self.states().items()

        self._wait(f"{expected}", timeout, there)

    def await_starts(self, name: str, count: int, timeout: float = PATIENCE) -> None:
        """Wait until so many processes of a benchmark were started."""
        self._wait(f"{count} of {name}", timeout, lambda: self.starts()[name] >= count)

    def _wait(self, what: str, timeout: float, condition: Callable[[], bool]) -> None:
        try:
            self.cluster.wait(what, timeout, condition)
        except AssertionError as error:
            has_begun = (self.run / "run.json").exists()
            error.add_note(f"started: {dict(self.starts())}; {self.states() if has_begun else ''}")
            raise


def ended(command: subprocess.Popen[str], timeout: float = PATIENCE) -> tuple[int, str, str]:
    """Wait for a command of milabench: its exit code, output and standard error."""
    try:
        out, err = command.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(command.pid, signal.SIGKILL)
        out, err = command.communicate()
        raise AssertionError(
            f"not within {timeout} s: the end of {command.args}\n{out}{err}"
        ) from None
    return command.returncode, out, err
