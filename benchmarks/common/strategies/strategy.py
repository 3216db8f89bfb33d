"""The interface of strategies, and the code that most of them share."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from benchmarks.common.marks import Waits
from benchmarks.common.strategies.bucket_marks import BucketMarks
from benchmarks.common.strategies.dtypes import told_dtypes
from benchmarks.common.strategies.parameters import local_numel
from benchmarks.common.strategies.setup import Setup
from benchmarks.common.workload import Batch, Workload


class Strategy(Protocol):
    """A model spread over devices, and the parts of its training step."""

    model: nn.Module  # as wrapped
    data_parallel_size: int  # replicas that see different data
    data_parallel_rank: int
    # Whether a step has several forward and backward passes in turn (microbatches). Then there is
    # ``forward_backward`` alone, and neither ``forward`` nor ``backward``.
    interleaved: bool
    buckets: BucketMarks | None  # the marks of DDP's buckets; None in the other modes

    def forward(self, batch: Batch) -> Tensor:
        """The mean loss of this replica's batch."""

    def backward(self, loss: Tensor) -> None:
        """Compute the gradients, averaged over the replicas, or queue this on the device."""

    def forward_backward(self, batch: Batch) -> Tensor:
        """Compute the mean loss of this replica's batch, and the gradients averaged over replicas.

        The loss is nan on a rank that does not have it (the earlier stages of a pipeline). The
        computation may only be queued when this returns.
        """

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""

    def mark_waits(self, waits: Waits) -> bool:
        """Mark from now on where this rank waits for communication; False if it cannot tell."""

    def metrics(self) -> dict[str, Any]:
        """Facts about this rank's part: ``parameters_held``, ``build_s``, types, graphs."""


@dataclass(frozen=True)
class Replicas:
    """How many replicas see different data, and which of them this rank belongs to."""

    size: int = 1
    rank: int = 0


class WrappedModel:
    """A strategy that calls one model with the full batch: all but pipelines."""

    interleaved = False
    buckets: BucketMarks | None = None
    waits_unknown = ""  # why ``mark_waits`` could not mark them

    def __init__(self, model: nn.Module, setup: Setup, replicas: Replicas) -> None:
        self.model = model
        self.data_parallel_size, self.data_parallel_rank = replicas.size, replicas.rank
        self._workload, self._precision = setup.workload, setup.precision
        self._device, self._compiler = setup.device, setup.compiler
        self._scaler = setup.scaler()
        self._optimizer = setup.optimizer(model)
        self._build_s, self._dtypes = setup.elapsed(), told_dtypes(setup.args)

    @property
    def loss_scale(self) -> float:
        return float(self._scaler.get_scale())

    def forward(self, batch: Batch) -> Tensor:
        with self._precision.context(self._device):
            return self._workload.loss(self.model, batch)

    def backward(self, loss: Tensor) -> None:
        self._scaler.scale(loss).backward()

    def forward_backward(self, batch: Batch) -> Tensor:
        loss = self.forward(batch)
        self.backward(loss)
        return loss.detach()

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""
        self._optimizer.step(self._scaler)

    def mark_waits(self, waits: Waits) -> bool:  # noqa: ARG002
        return False

    def metrics(self) -> dict[str, Any]:
        """Parameters of this rank, seconds of building, types, optimizer, graphs."""
        found = {"parameters_held": local_numel(self.model), "build_s": self._build_s}
        if self.waits_unknown:
            found["waits_unknown"] = self.waits_unknown
        return found | self._dtypes | self._optimizer.metrics() | self._compiler.metrics()

    def unsynced(self) -> AbstractContextManager[Any]:
        """A context in which gradients add up on this rank and the replicas do not average them."""
        return nullcontext()


class Accumulated:
    """``--accumulate``: a batch in parts, with a backward pass for each and one update for all.

    The replicas average their gradients only with the last part of a batch.
    """

    interleaved = True

    def __init__(self, strategy: WrappedModel, workload: Workload, parts: int) -> None:
        self.model: nn.Module = strategy.model
        self.data_parallel_size = strategy.data_parallel_size
        self.data_parallel_rank = strategy.data_parallel_rank
        self.buckets = strategy.buckets
        self._strategy, self._split, self._parts = strategy, workload.split, parts

    def forward_backward(self, batch: Batch) -> Tensor:
        """The mean loss of the parts; their gradients are added up, and then averaged."""
        strategy, losses = self._strategy, []
        for k, part in enumerate(self._split(batch, self._parts), 1):
            with strategy.unsynced() if k < self._parts else nullcontext():
                loss = strategy.forward(part)
                strategy.backward(loss / self._parts)
            losses.append(loss.detach())
        return torch.stack(losses).mean()

    def step(self) -> None:
        """Update the parameters, and drop the gradients."""
        self._strategy.step()

    def mark_waits(self, waits: Waits) -> bool:
        """Those of the strategy, which end with the last part of a batch."""
        return self._strategy.mark_waits(waits)

    def metrics(self) -> dict[str, Any]:
        return self._strategy.metrics()
