"""What a program can ask of a strategy, and what most strategies have in common."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from common.strategies.setup import Setup
from common.workload import Batch


class Strategy(Protocol):
    """A model spread over devices, and its training step."""

    model: nn.Module  # as wrapped
    interleaved: bool  # forward and backward cannot be told apart: ask for ``forward_backward``
    data_parallel_size: int  # replicas that see different data
    data_parallel_rank: int

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of this replica's batch."""

    def backward(self, loss: Tensor) -> None:
        """The gradients; averaged over the replicas when it returns, or queued to be."""

    def forward_backward(self, batch: Batch) -> Tensor:
        """Both; the loss, or nan on a rank that has no loss (a pipeline's earlier stages)."""

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""

    def metrics(self) -> dict[str, Any]:
        """Facts about this rank's part: ``parameters_held``, ``build_s``, graphs, buckets."""


@dataclass(frozen=True)
class Replicas:
    """How many replicas see different data, and which of them this rank belongs to."""

    size: int = 1
    rank: int = 0


class Whole:
    """A strategy that calls one model with the whole batch: all but pipelines."""

    def __init__(self, model: nn.Module, setup: Setup, replicas: Replicas) -> None:
        """Train ``model``, wrapped already; its optimizer is made here."""
        self.model = model
        self.data_parallel_size, self.data_parallel_rank = replicas.size, replicas.rank
        self._workload, self._precision = setup.workload, setup.precision
        self._device, self._compiler = setup.device, setup.compiler
        self._accumulate = setup.args.accumulate
        self.interleaved = self._accumulate > 1
        self._scaler = setup.precision.scaler(setup.device)
        self._optimizer = setup.optimizer(model)
        self._build_s = setup.elapsed()

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of this replica's batch."""
        with self._precision.context(self._device):
            return self._workload.loss(self.model, batch)

    def backward(self, loss: Tensor) -> None:
        """The gradients."""
        self._scaler.scale(loss).backward()

    def forward_backward(self, batch: Batch) -> Tensor:
        """Both, part by part; the replicas' gradients are averaged with the last part only."""
        if self._accumulate == 1:
            loss = self.forward(batch)
            self.backward(loss)
            return loss.detach()
        losses = []
        for k, part in enumerate(self._workload.split(batch, self._accumulate), 1):
            with self._local() if k < self._accumulate else nullcontext():
                loss = self.forward(part)
                self.backward(loss / self._accumulate)
            losses.append(loss.detach())
        return torch.stack(losses).mean()

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""
        self._optimizer.step(self._scaler)

    def metrics(self) -> dict[str, Any]:
        """Parameters that this rank holds, the time to build it, what the compiler did."""
        found = {"parameters_held": held(self.model), "build_s": self._build_s}
        return found | self._compiler.metrics()

    def _local(self) -> AbstractContextManager[Any]:
        """Where gradients are added up on this rank alone."""
        return nullcontext()


def held(model: nn.Module) -> int:
    """Parameters in this rank's memory: of a sharded one, the shard."""
    return sum(local(p).numel() for p in model.parameters())


def local(tensor: Tensor) -> Tensor:
    """This rank's part of a tensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor
