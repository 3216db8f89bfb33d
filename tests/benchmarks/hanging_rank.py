"""A program of ours of which the last rank hangs in the middle of its loop.

Started without ``RANK``, it starts two ranks, as torchrun does, and ends them when one fails.
"""

import os
import subprocess
import sys
import time
from itertools import repeat
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def train() -> None:
    """The loop of a rank."""
    import torch.distributed as dist

    from benchmarks.common.session import session

    with session("cpu", distributed=True) as run:
        steps = run.steps(repeat(None), work=1, units="items", count=9, warmup=1)
        for step, _ in enumerate(steps):
            if step == 5 and run.group.rank == 1:
                time.sleep(3600)
            dist.barrier()


def launch() -> None:
    """The ranks, in sessions of their own."""
    started = []
    for rank in range(2):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2"}
        started.append(
            subprocess.Popen([sys.executable, __file__], env=env, start_new_session=True)
        )
    code = started[0].wait()
    started[1].terminate()
    sys.exit(code)


if "RANK" in os.environ:
    train()
else:
    launch()
