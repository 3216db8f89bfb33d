"""Measures milabench on a Slurm cluster: time to the first step, and node time that is idle.

    tests/slurm/cluster up 4 --netns && eval $(tests/slurm/cluster env)
    python perf/slurm_cost.py [PAIRS]

Any cluster of four nodes with two GPUs each will do, if all of them see this folder.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from perf.paired import MILABENCH, REPOSITORY, environment

FIRST_STEP = """
import json, os, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
if dist.get_rank() == 0:
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "first"), "w") as out:
        out.write(repr(time.time()))
with open(os.environ.get("MILABENCH_METRICS", os.devnull), "a") as out:
    out.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\\n")
dist.destroy_process_group()
"""
WAIT = """
import json, os, sys, time
time.sleep(float(sys.argv[1]))
with open(os.environ["MILABENCH_METRICS"], "a") as out:
    out.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\\n")
"""
BENCHMARK = "first: {program: first.py, plan: {method: njobs, n: 1}, num_machines: 2}\n"
SWEEP = """
sweep:
  matrix: {seconds: [3, 4, 6], nodes: [4, 2, 1]}
  job:
    name: 'wait-{seconds}-{nodes}'
    program: wait.py
    plan: {method: per_gpu}
    argv: ['{seconds}']
    num_machines: '{nodes}'
"""


def run(folder: Path, config: str, nodes: str, gpus: int) -> None:
    """Run ``milabench run`` on the cluster, and wait for its end."""
    words = [*MILABENCH, "run", str(folder / config), "--runner", str(folder / "runner.yaml")]
    words += ["--nodes", nodes, "--gpus", str(gpus), "--device", "cpu", "--base", str(folder)]
    done = subprocess.run(words, env=environment(), cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def bare(folder: Path) -> None:
    """Submit the same torchrun with ``sbatch``, and wait for its end."""
    env = {**environment(), "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    script = ["runners/srun.sh", str(folder / "first.py")]
    words = ["sbatch", "--wait", "--nodes=2", "--gres=gpu:2", f"--output={folder}/output", *script]
    done = subprocess.run(words, env=env, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr + (folder / "output").read_text())


def first_step(folder: Path, *, ours: bool) -> float:
    """Seconds from the command to the end of the first all-reduce of all ranks."""
    (folder / "first").unlink(missing_ok=True)
    began = time.time()
    if ours:
        run(folder, "benchmark.yaml", "2", 2)
    else:
        bare(folder)
    return float((folder / "first").read_text()) - began


def idle(folder: Path) -> tuple[float, float]:
    """The share of node time in which nothing ran: ours, and with one benchmark at a time.

    Both hold all nodes from the start of the first benchmark to the end of the last. The second is
    not measured: it is computed from the same times, one benchmark after another.
    """
    run(folder, "sweep.yaml", "4,2,1", 1)
    latest = max((folder / "runs").iterdir(), key=lambda path: path.stat().st_mtime)
    states = [json.loads(path.read_text()) for path in latest.glob("*/state.json")]
    took = [state["ended"] - state["started"] for state in states]
    busy = sum(len(state["nodes"]) * seconds for state, seconds in zip(states, took, strict=True))
    span = max(state["ended"] for state in states) - min(state["started"] for state in states)
    return 1 - busy / (4 * span), 1 - busy / (4 * sum(took))


def main() -> None:
    """Print both figures."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory(dir=os.environ.get("MILABENCH_BASE")) as name:
        folder = Path(name)
        for file, text in {
            "first.py": FIRST_STEP,
            "wait.py": WAIT,
            "benchmark.yaml": BENCHMARK,
            "sweep.yaml": SWEEP,
            "runner.yaml": "kind: slurm\ntimeout: 10\n",
        }.items():
            (folder / file).write_text(text)
        seconds = [(first_step(folder, ours=True), first_step(folder, ours=False))
                   for _ in range(pairs)]  # fmt: skip
        ours, theirs = (median(column) for column in zip(*seconds, strict=True))
        ratio = median(a / b for a, b in seconds)
        print(f"first step on 2 nodes: {ours:.1f} s, sbatch {theirs:.1f} s, ratio {ratio:.2f}")
        shared, single = idle(folder)
        print(f"idle node time: {shared:.0%}, with one benchmark at a time {single:.0%}")


if __name__ == "__main__":
    main()
