"""Measures the wall time of two commands in turn (A B A B ...), so that drift affects both."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

BIN = Path(sys.executable).parent
SCRIPT = BIN / "milabench"  # absent where the package is on PYTHONPATH and not installed
MILABENCH = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "milabench_ddp"]
REPOSITORY = Path(__file__).resolve().parents[1]


def environment() -> dict[str, str]:
    """This environment, with byte code kept, as a user has it."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "PATH": f"{BIN}:{env.get('PATH', '')}"}


def seconds(command: Sequence[str], env: Mapping[str, str]) -> float:
    """Wall time of one run, in seconds; its output is dropped, its failure is an error."""
    begin = time.perf_counter()
    subprocess.run(command, env=env, check=True, capture_output=True, cwd=REPOSITORY)
    return time.perf_counter() - begin


def compare(a: Sequence[str], b: Sequence[str], runs: int = 15) -> tuple[float, float, float]:
    """Medians of the wall times of ``a`` and ``b`` (s), and of their pairwise ratio a / b."""
    env = environment()
    seconds(a, env), seconds(b, env)  # fill caches, write byte code
    pairs = [(seconds(a, env), seconds(b, env)) for _ in range(runs)]
    return (
        median(x for x, _ in pairs),
        median(y for _, y in pairs),
        median(x / y for x, y in pairs),
    )
