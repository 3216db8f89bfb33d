"""Strategies whose passes take known times on a clock that is moved by hand."""

import torch
from torch import nn


class Interleaved:
    """A strategy that has no separate forward and backward passes."""

    data_parallel_size, data_parallel_rank = 4, 0
    interleaved = True
    buckets = None
    model = nn.Identity()

    def __init__(self, clock):
        self.clock, self.steps = clock, 0

    def forward_backward(self, batch):
        self.clock.sleep(80 if self.steps else 9050)  # the first step compiles
        self.steps += 1
        return torch.tensor(1.0)

    def step(self):
        self.clock.sleep(15)

    def mark_waits(self, waits):
        return False

    def metrics(self):
        return {"buckets": 3}


class Phased(Interleaved):
    """A strategy that has separate forward and backward passes."""

    interleaved = False

    def forward(self, batch):
        self.clock.sleep(30 if self.steps else 9000)
        self.steps += 1
        return torch.tensor(0.5)

    def backward(self, loss):
        self.clock.sleep(50)
