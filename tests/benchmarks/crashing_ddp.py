"""A program of ours whose rank 1 fails in the middle of the loop."""

import sys
from itertools import repeat
from pathlib import Path

import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common.session import session

with session("cpu", distributed=True) as run:
    steps = run.steps(repeat(None), work=1, units="items", count=9, warmup=1, interval=0)
    for step, _ in enumerate(steps):
        dist.barrier()
        if step == 5 and run.group.rank == 1:
            raise ValueError("planted in rank 1")
