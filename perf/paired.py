"""Measures several things in turn (A B A B ...), so that drift affects all of them alike."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BIN = Path(sys.executable).parent
SCRIPT = BIN / "milabench"  # absent where the package is on PYTHONPATH and not installed
MILABENCH = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "milabench_ddp"]
LONGEST = 900.0  # seconds of a command, after which it hangs
REPOSITORY = Path(__file__).resolve().parents[1]


class FailedRunError(Exception):
    """A command did not end as it was expected to: there is nothing to measure."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    seconds: float  # of wall time
    returncode: int
    said: str  # on both streams


def environment() -> dict[str, str]:
    """This environment, with byte code kept, as a user has it."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "PATH": f"{BIN}:{env.get('PATH', '')}"}


def run(command: Sequence[str], core: int | None = None) -> Done:
    """Run a command, with all that it starts on one core if that is given."""
    begin = time.perf_counter()
    with on_core(core):
        done = subprocess.run(
            command,
            env=environment(),
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=LONGEST,
        )
    took = time.perf_counter() - begin
    return Done(took, done.returncode, done.stdout.decode(errors="replace"))


def seconds(command: Sequence[str], core: int | None = None) -> float:
    """Wall time of a command in seconds.

    Raises:
        FailedRunError: it fails.
    """
    done = run(command, core)
    if done.returncode:
        raise FailedRunError(f"{' '.join(command)}: exit status {done.returncode}\n{done.said}")
    return done.seconds


@contextmanager
def on_core(core: int | None) -> Iterator[None]:
    """Keep this thread, and the processes that it starts in the block, on a core."""
    if core is None:
        yield
        return
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


def in_turn(
    rounds: int, sides: Mapping[str, Callable[[], float]], *, warm: bool = True
) -> dict[str, tuple[float, ...]]:
    """Measure every side once in each round; every other round goes through them backwards.

    Args:
        rounds: how often.
        sides: what to measure, by name.
        warm: whether to measure each once before, which fills caches and is not counted; one round
            alone is for a first look, or takes so long that the caches do not matter.
    """
    if warm and rounds > 1:
        for measure in sides.values():
            measure()
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for name in order:
            found[name].append(sides[name]())
    return {name: tuple(values) for name, values in found.items()}
