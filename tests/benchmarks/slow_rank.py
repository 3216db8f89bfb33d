"""Trains a small model under DDP on all ranks; rank 2 takes 6 ms longer in its forward pass."""

import sys
import time
from itertools import repeat
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common.session import session

FORWARD, PLANTED = 0.020, 0.006  # seconds

with session("cpu", distributed=True) as run:
    model = DistributedDataParallel(nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    parts = ("forward", "backward", "optimizer")
    for _ in run.steps(repeat(None), work=1, units="items", count=40, warmup=3, parts=parts):
        time.sleep(FORWARD + (PLANTED if run.group.rank == 2 else 0.0))
        loss = model(torch.randn(4, 8)).square().mean()
        run.lap()
        loss.backward()
        run.lap()
        optimizer.step()
    if run.group.rank == 0:
        run.report(model={"mode": "ddp", "step_ms": run.mean_ms})
