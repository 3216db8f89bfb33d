"""One device that trains on the batches of all replicas: what a strategy must agree with."""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean

import torch
from torch import Tensor, nn

from benchmarks.common import strategies
from benchmarks.common.gradients import Expected, gradients
from benchmarks.common.group import Group
from benchmarks.common.precision import exact_on
from benchmarks.common.strategies.dtypes import DTYPES, gathered_dtype
from benchmarks.common.strategies.strategy import WrappedModel
from benchmarks.common.workload import Batch, Workload

Batches = Callable[[int, int], Batch]  # (step, replica): its batch, on this rank's device
TENSOR_PARALLEL = ("tp", "tp-fsdp")


@dataclass(frozen=True)
class Reference:
    """One device, and the batches of all replicas, which it takes in turn."""

    args: argparse.Namespace
    workload: Workload
    device: torch.device
    replicas: int
    parts: int  # of a replica's batch, with a backward pass each
    batches: Batches

    def train(self, steps: int) -> Expected:
        """Train a few steps; the mean loss of the replicas is that of the global batch."""
        single = self._single()
        losses, found = [], {}
        for k in range(steps):
            losses.append(fmean(self._passes(single, k, 1 / self._count)))
            if k == steps - 1:
                found = _full_gradients(single)
            single.step()
        return Expected(losses, found, {})

    def gradients(self, step: int) -> Expected:
        """The gradients of a step with the first parameters, and their error by rounding alone.

        That is the error of adding the replicas' gradients in the coarsest type that is used
        for it; of a gradient in the type that FSDP gathers, which not each torch rounds it to; and,
        where the strategy orders its operations in another way than one device does, the difference
        to gradients that are computed in fp64 from the same parameters.
        """
        low, dtype = self._single(), gathered_dtype(self.args)
        if dtype is not None:
            _lower(low.model, dtype)
        coarse = gradient_type(self.args)
        added: dict[str, Tensor] = {}
        exact: dict[str, Tensor] = {}
        losses = []
        # As the strategy weighs it before its backward pass: a division rounds all that follows.
        weight = 1 / self.args.accumulate
        for loss in self._passes(low, step, weight, dtype):
            losses.append(loss)
            for name, gradient in _full_gradients(low).items():
                share, kept = weight * self._count, gradient.dtype
                exact[name] = exact.get(name, 0) + gradient / share
                rounded = gradient.to(dtype or kept).to(kept) / share
                added[name] = added.get(name, 0) + rounded.to(coarse or kept)
            low.model.zero_grad()
        reordered = not self._same_operations()
        without_rounding = self._in_fp64(low, step) if reordered else exact
        rounding = {name: added[name] - right for name, right in without_rounding.items()}
        return Expected([fmean(losses)], exact, rounding, reordered)

    @property
    def _count(self) -> int:
        return self.replicas * self.parts

    def _same_operations(self) -> bool:
        """Whether a backward pass of the strategy is to the bit that of one device.

        Not if ranks share a matrix; and the kernels of a GPU may add in any order, or be chosen by
        their speed.
        """
        args, cpu = self.args, self.device.type == "cpu"
        # Gradients of what many blocks use (T5's position bias) are added in the gathered type, in
        # the order of FSDP's hooks. What can be cut into stages has nothing of the kind.
        mixed = gathered_dtype(args) is not None and self.workload.stages is None
        alike = args.mode not in TENSOR_PARALLEL and args.compile in ("none", "eager")
        return cpu and alike and not mixed

    def _in_fp64(self, low: WrappedModel, step: int) -> dict[str, Tensor]:
        """The gradients from the parameters of ``low`` in fp64, times its loss scale."""
        exact = exact_on(self.device)
        plain = {"precision": exact.name, "float8": "none"}
        args = argparse.Namespace(**vars(self.args) | plain)
        high = replace(self, args=args)
        single = high._single()
        single.model.load_state_dict(low.model.state_dict())
        for _ in high._passes(single, step, low.loss_scale / self._count, exact.dtype):
            pass
        return _full_gradients(single)

    def _single(self) -> WrappedModel:
        args = argparse.Namespace(**vars(self.args) | strategies.defaults() | {"mode": "single"})
        single = strategies.build_unchecked(args, self.workload, Group(self.device))
        assert isinstance(single, WrappedModel)
        single.model.train()
        return single

    def _passes(
        self,
        single: WrappedModel,
        step: int,
        weight: float,
        dtype: torch.dtype | None = None,
    ) -> Iterator[float]:
        """Add ``weight`` times the gradients of each part of each replica's batch; its loss."""
        for replica in range(self.replicas):
            batch = cast(self.batches(step, replica), dtype)
            for part in self.workload.split(batch, self.parts) if self.parts > 1 else [batch]:
                loss = single.forward(part)
                single.backward(loss * weight)
                yield float(loss.detach())


def _full_gradients(single: WrappedModel) -> dict[str, Tensor]:
    return {name: gradient.values for name, gradient in gradients(single.model).items()}


def _lower(model: nn.Module, dtype: torch.dtype) -> None:
    """Give parameters the type that FSDP gathers them in; batch norms keep theirs."""
    for module in model.modules():
        if not isinstance(module, nn.modules.batchnorm._BatchNorm):
            for parameter in module.parameters(recurse=False):
                parameter.data = parameter.data.to(dtype)
                parameter.grad_dtype = torch.float32


def gradient_type(args: argparse.Namespace) -> torch.dtype | None:
    """The coarsest type that gradients are added in; None: not coarser than fp32."""
    names = (args.precision, args.comm_hook, args.reduce_dtype)
    for name in ("bf16", "fp16"):
        if name in names:
            return DTYPES[name]
    return None


def cast(batch: Batch, dtype: torch.dtype | None) -> Batch:
    """The batch with its floating-point tensors in ``dtype``; None: as it is."""
    if dtype is None:
        return batch
    return tuple(t.to(dtype) if t.is_floating_point() else t for t in batch)
