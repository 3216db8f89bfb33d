"""Starting, finding and ending the cluster's own processes, by pid files; no other is touched."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import ClusterError

MARK = "MILABENCH_SLURM_DIR"
"""In the environment of each of our processes: a pid that was used anew does not bear it."""


class Processes:
    """The processes of one cluster, each known by a name: ``run/<name>.pid``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def start(
        self, command: Sequence[str], log: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command in a session of its own; it says what it has to say in ``log/<log>``."""
        with (self._directory / "log" / log).open("ab") as output:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {MARK: str(self._directory)} | dict(environ or {}),
            )

    def daemon(
        self, command: Sequence[str], log: str, environ: Mapping[str, str] | None = None
    ) -> None:
        """Run a command that sends itself to the background and writes its own pid file."""
        process = self.start(command, log, environ)
        if not until(lambda: process.poll() is not None, 30) or process.returncode:
            raise ClusterError(f"{command[0]} did not start: see {self._directory}/log/{log}")

    def path(self, name: str) -> Path:
        """The pid file of ``name``."""
        return self._directory / "run" / f"{name}.pid"

    def pid(self, name: str) -> int | None:
        """The process ``name``, if it lives."""
        try:
            pid = int(self.path(name).read_text())
            environ = Path(f"/proc/{pid}/environ").read_bytes()  # empty of a zombie
        except (OSError, ValueError):
            return None
        return pid if f"{MARK}={self._directory}".encode() in environ.split(b"\0") else None

    def stop(self, name: str, *, kill: bool = False) -> None:
        """End ``name`` and wait for that; by force at once, or after 5 s."""
        if (pid := self.pid(name)) is not None:
            for number, patience in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 10.0)):
                if kill and number is signal.SIGTERM:
                    continue
                send(pid, number)
                if until(lambda: self.pid(name) is None, patience):
                    break
            else:
                raise ClusterError(f"{name} (process {pid}) does not end")
        self.path(name).unlink(missing_ok=True)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have just gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until the condition holds; false where it does not within ``seconds``."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def succeeds(*command: str, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a command exits with 0 within 10 s; what it prints is dropped."""
    environ = os.environ | dict(environ or {})
    try:
        return subprocess.run(command, capture_output=True, timeout=10, env=environ).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def call(*command: str, environ: Mapping[str, str] | None = None) -> str:
    """What a command prints; raises ClusterError with its last words where it fails."""
    environ = os.environ | dict(environ or {})
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    if done.returncode:
        said = done.stderr.strip() or f"exit code {done.returncode}"
        raise ClusterError(f"`{' '.join(command)}`: {said}")
    return done.stdout
