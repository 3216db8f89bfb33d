"""What a program can ask of a strategy, and what most strategies have in common."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from torch import Tensor, nn

from benchmarks.common.strategies.setup import Setup
from benchmarks.common.workload import Batch


class Strategy(Protocol):
    """A model spread over devices, and its training step."""

    model: nn.Module  # as wrapped
    data_parallel_size: int  # replicas that see different data
    data_parallel_rank: int

    def forward_backward(self, batch: Batch) -> Tensor:
        """The mean loss of this replica's batch, and the gradients, averaged over the replicas.

        The loss is nan on a rank that has none (a pipeline's earlier stages). What it says may be
        queued only.
        """

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""

    def metrics(self) -> dict[str, Any]:
        """Facts about this rank's part: ``parameters_held``, ``build_s``, graphs, buckets."""


@runtime_checkable
class Phased(Strategy, Protocol):
    """A strategy whose step has one forward and one backward pass, which can be told apart."""

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of this replica's batch."""

    def backward(self, loss: Tensor) -> None:
        """The gradients; averaged over the replicas when it returns, or queued to be."""


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
        """Both."""
        loss = self.forward(batch)
        self.backward(loss)
        return loss.detach()

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""
        self._optimizer.step(self._scaler)

    def metrics(self) -> dict[str, Any]:
        """Parameters that this rank holds, the time to build it, what the compiler did."""
        found = {"parameters_held": held(self.model), "build_s": self._build_s}
        return found | self._compiler.metrics()

    def unsynced(self) -> AbstractContextManager[Any]:
        """Where gradients are added up on this rank, and the replicas do not average them."""
        return nullcontext()


def held(model: nn.Module) -> int:
    """Parameters in this rank's memory: of a sharded one, the shard."""
    return sum(local(p).numel() for p in model.parameters())


def local(tensor: Tensor) -> Tensor:
    """This rank's part of a tensor."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor
