"""A running cluster, as tests use it: through the script and Slurm's own commands."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .virtual.processes import MARK

PATIENCE = 240.0
"""Seconds for a busy machine. Several waits of a test come before pytest's own limit, so that the
one that fails can say how jobs and nodes are."""
SCRIPT = Path(__file__).parent / "cluster"
REPOSITORY = Path(__file__).resolve().parents[2]
ENDED = frozenset(
    {
        *("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED", "PREEMPTED"),
        *("NODE_FAIL", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"),
    }
)
"""The states that a job does not leave, but to be requeued."""


class LiveCluster:
    """The cluster of one slot, started by ``up`` and ended by ``down``."""

    def __init__(self, slot: int, nodes: int, *, network: bool) -> None:
        self.size = nodes
        self.has_network = network
        clean = {key: value for key, value in os.environ.items() if "SLURM" not in key}
        clean["COLUMNS"] = "400"  # so that no sentence is wrapped
        self._environ = clean | {"MILABENCH_SLURM_SLOT": str(slot)}
        self._is_hurt = False  # since it was mended
        self.env: dict[str, str] = dict(clean)
        """The environment in which sbatch, srun, sacct and submitit speak to this cluster."""

    def up(self) -> None:
        """Start it; what a killed session has left in this slot is ended."""
        self._script("down")
        self._script("up", str(self.size), *["--netns"] * self.has_network)
        setting = self._script("env").removeprefix("export ").strip()
        self.env |= dict([setting.split("=", 1)])

    def down(self) -> None:
        """Stop it."""
        self._script("down")

    # What happens to nodes.

    def exec(self, node: str, *command: str) -> str:
        """What a command prints on a node; raises CalledProcessError where it fails."""
        return self._script("exec", node, *command)

    def crash(self, node: str) -> None:
        """Power a node off."""
        self._is_hurt = True
        self._script("crash", node)

    def boot(self, node: str) -> None:
        """Power a node on, and wait until Slurm has it back."""
        self._script("boot", node)

    def cut(self, node: str) -> None:
        """Pull a node's cable."""
        self._is_hurt = True
        self._script("cut", node)

    def heal(self, node: str) -> None:
        """Plug a node's cable in."""
        self._script("heal", node)

    def rate(self, node: str, rate: str) -> None:
        """Let a node send no faster than ``rate``; ``off`` ends that."""
        self._is_hurt = True
        self._script("rate", node, rate)

    @contextmanager
    def slurmd_timeout(self, seconds: int) -> Iterator[None]:
        """For a block, let Slurm take a silent node for down only after so long."""
        conf = Path(self.env["SLURM_CONF"])
        usual = conf.read_text()
        self._configure(re.sub(r"^SlurmdTimeout=.*", f"SlurmdTimeout={seconds}", usual, flags=re.M))
        try:
            yield
        finally:
            self._configure(usual)

    @contextmanager
    def no_controller(self, *, killed: bool) -> Iterator[None]:
        """For a block, Slurm's controller is stopped, or is killed and started anew after it."""
        conf = Path(self.env["SLURM_CONF"])
        pid = int((conf.parents[1] / "run" / "slurmctld.pid").read_text())
        os.kill(pid, signal.SIGKILL if killed else signal.SIGSTOP)
        try:
            yield
        finally:
            if killed:
                environ = {**self.env, MARK: str(conf.parents[1])}
                subprocess.run(["slurmctld", "-f", conf], env=environ, check=True, timeout=PATIENCE)
            else:
                os.kill(pid, signal.SIGCONT)

    def _configure(self, text: str) -> None:
        Path(self.env["SLURM_CONF"]).write_text(text)
        self.run("scontrol", "reconfigure")

    def nodes(self) -> dict[str, str]:
        """Each node's state in Slurm's words; ``*`` behind one: it does not respond."""
        said = self.run("sinfo", "-hN", "-p", "train", "-o", "%N %T")
        return dict(line.split() for line in said.splitlines())

    def reset(self) -> None:
        """Make it as new: no jobs, every cable in and at full speed, every node on and idle."""
        if jobs := self.run("squeue", "-h", "-o", "%A").split():
            self.run("scancel", *jobs)
        if self._is_hurt:
            self._script("mend")
            self._is_hurt = False
        self.wait("all nodes idle, no job", PATIENCE, self._is_idle)

    def _is_idle(self) -> bool:
        return set(self.nodes().values()) == {"idle"} and not self.run("squeue", "-h")

    # What happens to jobs.

    def run(self, *command: str | Path, timeout: float = PATIENCE) -> str:
        """What a command prints on the login node, at the top of this repository."""
        done = subprocess.run(
            command, env=self.env, cwd=REPOSITORY, capture_output=True, text=True, timeout=timeout
        )
        if done.returncode:
            words = " ".join(map(str, command))
            raise AssertionError(
                f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def srun(self, *argv: str | Path, timeout: float = PATIENCE) -> str:
        """What srun prints."""
        return self.run("srun", *argv, timeout=timeout)

    def sbatch(self, *argv: str | Path) -> str:
        """Submit a batch job; its id."""
        return self.run("sbatch", "--parsable", *argv).strip()

    def squeue(self, job: str) -> str | None:
        """The state of a job that Slurm's controller still knows, else None."""
        command = ["squeue", "-h", "-t", "all", "-o", "%i %T"]
        rows = (line.split() for line in self.run(*command).splitlines())
        return dict(rows).get(job)

    def sacct(self, job: str) -> dict[str, str]:
        """The state of a job and of each of its steps (``JOB.batch``, ``JOB.0``), by name.

        The accounting hears of a change up to some seconds late. ``CANCELLED by 0`` is shortened.
        """
        rows = self.run("sacct", "-nP", "-j", job, "-o", "JobID,State").splitlines()
        return {name: state.split()[0] for name, state in (row.split("|") for row in rows)}

    def await_running(self, job: str, timeout: float = PATIENCE) -> None:
        """Wait until a job runs."""
        self.wait(f"{job} running", timeout, lambda: self.squeue(job) == "RUNNING")

    def await_end(self, job: str, timeout: float = PATIENCE) -> str:
        """Wait until a job has ended and the accounting says so; its state."""
        self.wait(f"the end of {job}", timeout, lambda: self.sacct(job).get(job) in ENDED)
        return self.sacct(job)[job]

    def wait(self, what: str, timeout: float, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds; fails the test, with all states, where it does not."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(
                    f"not within {timeout} s: {what}\n{self.run('sinfo', '-N')}{self.run('squeue')}"
                )
            time.sleep(0.1)

    def _script(self, *argv: str) -> str:
        done = subprocess.run(
            [SCRIPT, *argv], env=self._environ, capture_output=True, text=True, timeout=PATIENCE
        )
        if done.returncode:
            raise AssertionError(f"cluster {' '.join(argv)}: {done.stdout}{done.stderr}")
        return done.stdout
