"""``--accumulate``: a batch in parts, with one backward pass each and one update for all."""

from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.common.strategies.strategy import Whole
from benchmarks.common.workload import Batch, Workload


class Accumulated:
    """A strategy whose replicas average their gradients with the last part of a batch only."""

    def __init__(self, whole: Whole, workload: Workload, parts: int) -> None:
        """Give ``whole`` the batches in equal ``parts``."""
        self.model: nn.Module = whole.model
        self.data_parallel_size = whole.data_parallel_size
        self.data_parallel_rank = whole.data_parallel_rank
        self._whole, self._split, self._parts = whole, workload.split, parts

    def forward_backward(self, batch: Batch) -> Tensor:
        """The mean loss of the parts; their gradients are added up, and then averaged."""
        whole, losses = self._whole, []
        for k, part in enumerate(self._split(batch, self._parts), 1):
            with whole.unsynced() if k < self._parts else nullcontext():
                loss = whole.forward(part)
                whole.backward(loss / self._parts)
            losses.append(loss.detach())
        return torch.stack(losses).mean()

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""
        self._whole.step()

    def metrics(self) -> dict[str, Any]:
        """Those of the strategy."""
        return self._whole.metrics()
