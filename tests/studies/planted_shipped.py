"""Counts how often the report names a slow rank that was planted in the shipped ``gpt-ddp``.

    python -m tests.studies.planted_shipped [--trials 10] [--ms 45]

Each trial runs ``milabench run config/ddp.yaml --device cpu --gpus 4 --select gpt-ddp`` twice: with
one rank that sleeps so long before each backward pass, by a ``sitecustomize`` outside the program,
and without. Four ranks on few cores disturb each other: it takes a machine that is otherwise quiet.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from milabench_ddp.report.assemble import report_of

ROOT = Path(__file__).resolve().parents[2]
RANKS = 4
PLANT = """
import os, sys, time

if os.environ.get("RANK") == os.environ["SLOW_RANK"] and "main.py" in " ".join(sys.orig_argv):
    import torch

    backward = torch.Tensor.backward

    def late(*args, **kwargs):
        time.sleep(float(os.environ["SLOW_MS"]) / 1e3)
        return backward(*args, **kwargs)

    torch.Tensor.backward = late
"""


def named(folder: Path, slow: int | None, ms: float) -> list[tuple[str, object]]:
    """The ranks that the report of a new run names, with their slowest parts."""
    (folder / "sitecustomize.py").write_text(PLANT)
    env = {**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}
    env |= {"SLOW_RANK": "none" if slow is None else str(slow), "SLOW_MS": str(ms)}
    words = [sys.executable, "-m", "milabench_ddp", "run", str(ROOT / "config" / "ddp.yaml")]
    words += ["--device=cpu", f"--gpus={RANKS}", "--select=gpt-ddp", f"--base={folder}", "--quiet"]
    subprocess.run([*words, "--name=planted"], env=env, check=True, stdout=subprocess.DEVNULL)
    found = report_of([folder / "runs" / "planted"]).findings
    return [(each.place, each.evidence["part"]) for each in found if each.name == "slow_rank"]


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--ms", type=float, default=45.0, help="of sleep in each backward pass")
    options = parser.parse_args()
    right, alarms = 0, 0
    for trial in range(options.trials):
        slow = trial % RANKS
        for planted in (slow, None):
            with tempfile.TemporaryDirectory() as folder:
                found = named(Path(folder), planted, options.ms)
            right += planted is not None and found == [(f"rank {slow}", "backward")]
            alarms += planted is None and bool(found)
            load = os.getloadavg()[0]
            print(f"planted {planted}, named {found or 'none'}; load {load:.1f}", flush=True)
    print(f"{options.trials} trials: named {right}; without a slow rank, one named {alarms}")


if __name__ == "__main__":
    main()
