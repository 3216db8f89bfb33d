"""Trains a small model under DDP on all ranks; rank 2 takes 6 ms longer in a part of its step.

    torchrun slow_rank.py forward|backward

Time is moved by hand, so that what a rank takes does not depend on the machine: work takes what it
is said to take, and an all-reduce ends for all ranks when the last of them has come.
"""

import sys
import time
from itertools import repeat
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FORWARD, BACKWARD, OPTIMIZER, PLANTED = 20, 10, 1, 6  # milliseconds

now = torch.zeros(1, dtype=torch.int64)  # nanoseconds
time.perf_counter_ns = lambda: int(now)

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common.clocks import HostClock  # noqa: E402  # it takes the clock from time
from benchmarks.common.marks import Waits  # noqa: E402
from benchmarks.common.session import session  # noqa: E402
from benchmarks.common.strategies.gradient_marks import GradientMarks  # noqa: E402


def work(ms: int) -> None:
    """Let so many milliseconds pass on this rank."""
    now.add_(ms * 1_000_000)


with session("cpu", distributed=True) as run:
    late = {sys.argv[1]: PLANTED if run.group.rank == 2 else 0}
    model = DistributedDataParallel(nn.Linear(8, 8))
    model.module.weight.register_hook(lambda _: work(BACKWARD + late.get("backward", 0)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    parts, waits = ("forward", "backward", "optimizer"), Waits(HostClock())
    GradientMarks(model, waits)
    for _ in run.steps(
        repeat(None), work=1, units="items", count=40, warmup=3, parts=parts, waits=waits
    ):
        work(FORWARD + late.get("forward", 0))
        loss = model(torch.randn(4, 8)).square().mean()
        run.lap()
        loss.backward()
        torch.distributed.all_reduce(now, torch.distributed.ReduceOp.MAX)
        run.lap()
        optimizer.step()
        work(OPTIMIZER)
    if run.group.rank == 0:
        run.report(model={"mode": "ddp", "step_ms": run.mean_ms})
