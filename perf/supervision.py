"""Measures the cost of supervision: CPU time while a benchmark sleeps, and time around a benchmark.

    python perf/supervision.py

It also measures how far apart the eight processes of one launch start their programs. Limits: 2 %
of a core over 30 s; 0.5 s more than the program alone; 50 ms between the first and the last start.
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from statistics import median

from paired import MILABENCH, compare, environment, seconds

PROGRAM = """
import json, os, sys, time
time.sleep(float(sys.argv[1]))
channel = os.environ.get("MILABENCH_METRICS", os.devnull)
with open(channel, "w") as out:
    out.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\\n")
"""


def suite(folder: Path, sleep: float) -> list[str]:
    """A suite of one program that sleeps, and the command that runs it."""
    (folder / "program.py").write_text(PROGRAM)
    config = folder / f"sleep-{sleep:g}.yaml"
    text = f"""
        sleep:
          program: program.py
          plan: {{method: per_gpu}}
          argv: ["{sleep:g}"]
    """
    config.write_text(textwrap.dedent(text))
    options = ["--device", "cpu", "--gpus", "1", "--base", str(folder)]
    return [*MILABENCH, "run", str(config), *options]


def idle(folder: Path, sleep: float = 30.0) -> float:
    """The share of a core that the main process itself takes while the program sleeps."""
    run = subprocess.Popen(
        suite(folder, sleep),
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(3.0)  # until it has started and is at rest
    first = _cpu_seconds(run.pid)
    time.sleep(sleep - 5.0)
    used = _cpu_seconds(run.pid) - first
    run.wait()
    return used / (sleep - 5.0)


def start_skews(folder: Path, processes: int = 8, runs: int = 5) -> list[float]:
    """Milliseconds between the starts of the first and the last process, for each run."""
    command = suite(folder, 0.1)
    command[command.index("--gpus") + 1] = str(processes)
    skews = []
    for number in range(runs):
        name = f"skew-{number}"
        seconds([*command, "--name", name], environment())
        texts = [path.read_text() for path in (folder / "runs" / name).rglob("*.json")]
        skews += [float(skew) for skew in re.findall(r'"start_skew_ms": ?([\d.e-]+)', str(texts))]
    return skews


def _cpu_seconds(pid: int) -> float:
    # The scheduler's own account, in ns: the ticks of /proc/PID/stat are too coarse here.
    return (
        sum(
            int(re.split(r"\s+", path.read_text())[0])
            for path in Path(f"/proc/{pid}/task").glob("*/schedstat")
        )
        / 1e9
    )


def main() -> None:
    """Print a line for each figure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"CPU of the main process while a benchmark sleeps: {idle(folder):.2%} (at most 2 %)")
        skews = start_skews(folder)
        print(
            f"eight processes start within {median(skews):.0f} ms of one another (median), "
            f"{max(skews):.0f} ms (largest of {len(skews)} launches, at most 50)"
        )
        alone = [sys.executable, "-u", str(folder / "program.py"), "0.2"]
        mine, bare, _ = compare(suite(folder, 0.2), alone, runs=7)
        print(
            f"milabench run of a trivial program: {mine:.2f} s, the program alone: {bare:.2f} s, "
            f"{mine - bare:.2f} s more (at most 0.5)"
        )


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    main()
