"""The parts that every strategy is built from: model, values, optimizer, wrapped blocks."""

import argparse
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    OffloadWrapper,
    checkpoint_wrapper,
)
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.placement_types import Placement

from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS, Precision
from benchmarks.common.strategies import parameters
from benchmarks.common.strategies.compiling import Compiler
from benchmarks.common.workload import Workload

OPTIMIZERS = ("sgd", "adamw")
# The activations that the backward pass needs. ``noop`` keeps them; ``checkpoint`` keeps only the
# inputs of each block and computes the rest again in the backward pass: a third more operations,
# least memory; ``offload`` moves what each block saves to the host, and back for the backward pass.
ACTIVATIONS = ("noop", "checkpoint", "offload")
FIRST_LOSS_SCALE = 65536.0  # of torch.amp.GradScaler, which halves it where gradients overflow


@dataclass(frozen=True)
class Setup:
    """The options, the workload and the ranks of one strategy."""

    args: argparse.Namespace
    workload: Workload
    group: Group
    compiler: Compiler
    began: float  # seconds of the performance counter

    @classmethod
    def of(cls, args: argparse.Namespace, workload: Workload, group: Group) -> "Setup":
        """The setup for these options; the time of building counts from now."""
        compiler = Compiler(args.compile, args.optimize_ddp)
        return cls(args, workload, group, compiler, time.perf_counter())

    @property
    def device(self) -> torch.device:
        """The device of this rank."""
        return self.group.device

    @property
    def precision(self) -> Precision:
        """The precision that this rank computes in."""
        return PRECISIONS[self.args.precision]

    def elapsed(self) -> float:
        """Seconds since building began."""
        return round(time.perf_counter() - self.began, 3)

    def model(self) -> nn.Module:
        """The model before it is spread over devices.

        If the workload can fill it later, it has no memory yet; else it is on the host with its
        values, which are the same on every rank.
        """
        if self.workload.fill is not None:
            with torch.device("meta"):
                return self.workload.make_model().to(self.precision.dtype)
        torch.manual_seed(self.args.seed)
        return self.workload.make_model().to(self.precision.dtype)

    def fill(self, model: nn.Module, module: nn.Module) -> None:
        """Give a ``module`` of ``model`` memory on the device and values, if it has none yet."""
        if self.workload.fill is not None:
            parameters.fill(model, module, self.workload.fill, self.device, self.args.seed)

    def placed(self, model: nn.Module) -> nn.Module:
        """All of ``model`` on the device."""
        self.fill(model, model)
        return model.to(self.device)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """The blocks of ``model`` as they are now."""
        return list(self.workload.blocks(model))

    def save_memory(self, model: nn.Module) -> None:
        """Wrap the blocks as ``--activation`` says."""
        wrap_blocks(model, self.blocks(model), self.args.activation)

    def scaler(self) -> torch.amp.GradScaler:
        """The gradient scaler; the check of gradients begins at a scale where none overflow."""
        scale = getattr(self.args, "first_loss_scale", FIRST_LOSS_SCALE)
        return self.precision.scaler(self.device, scale)

    def optimizer(self, model: nn.Module) -> "Optimizer":
        """The optimizer of the parameters that ``model`` has now."""
        return Optimizer(model.parameters(), self.args)


class Optimizer:
    """SGD with momentum, or AdamW, over parameters of any placement."""

    def __init__(self, parameters: Iterable[nn.Parameter], args: argparse.Namespace) -> None:
        """Update ``parameters`` as ``--optimizer`` and ``--lr`` say."""
        groups = _by_mesh(parameters)
        sharded = any(isinstance(p, DTensor) for group in groups for p in group["params"])
        fused = None if sharded else True  # True: one kernel for all; None: DTensor's own choice
        if args.optimizer == "sgd":
            self._torch: torch.optim.Optimizer = torch.optim.SGD(
                groups, args.lr, momentum=0.9, fused=fused
            )
        else:
            self._torch = torch.optim.AdamW(groups, args.lr, fused=fused)

    def step(self, scaler: torch.amp.GradScaler) -> None:
        """Update the parameters, and drop the gradients."""
        scaler.step(self._torch)
        scaler.update()
        self._torch.zero_grad()


def _by_mesh(parameters: Iterable[nn.Parameter]) -> list[dict[str, list[nn.Parameter]]]:
    """Groups whose parameters one kernel can update: all on one mesh, or all plain tensors."""
    groups: dict[object, list[nn.Parameter]] = {}
    for parameter in parameters:
        mesh = parameter.device_mesh if isinstance(parameter, DTensor) else None
        groups.setdefault(mesh, []).append(parameter)
    return [{"params": group} for group in groups.values()]


@dataclass(frozen=True)
class _Part:
    """This rank's part of a ``DTensor`` on the host, and what it takes to restore it."""

    part: object  # as ``save_on_cpu`` packs it
    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: torch.Size
    stride: tuple[int, ...]


class _SavedOnHost(save_on_cpu):
    """PyTorch's hooks that keep saved tensors on the host; of a ``DTensor`` this rank's part.

    PyTorch's own cannot copy a ``DTensor``, which tensor parallelism has, to a plain tensor.
    """

    def __init__(self) -> None:
        super().__init__(pin_memory=True)
        to_host, back = self.pack_hook, self.unpack_hook

        def pack(tensor: torch.Tensor) -> object:
            if not isinstance(tensor, DTensor):
                return to_host(tensor)
            part = to_host(tensor.to_local())
            return _Part(part, tensor.device_mesh, tensor.placements, tensor.shape, tensor.stride())

        def unpack(saved: object) -> torch.Tensor:
            if not isinstance(saved, _Part):
                return back(saved)
            return DTensor.from_local(
                back(saved.part),
                saved.mesh,
                saved.placements,
                shape=saved.shape,
                stride=saved.stride,
            )

        self.pack_hook, self.unpack_hook = pack, unpack


class _Offloaded(OffloadWrapper):
    """A block that keeps on the host what its backward pass needs."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The block's result."""
        with _SavedOnHost():
            return self._checkpoint_wrapped_module(*args, **kwargs)


def wrap_blocks(model: nn.Module, blocks: Iterable[nn.Module], activation: str) -> None:
    """Wrap each of ``blocks`` in ``model`` as one of ``ACTIVATIONS`` says."""
    if activation == "noop":
        return
    chosen = {id(block) for block in blocks}
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if id(child) not in chosen:
                continue
            if activation == "offload":
                wrapped = _Offloaded(child)
            else:
                wrapped = checkpoint_wrapper(child, checkpoint_impl=CheckpointImpl.NO_REENTRANT)
            setattr(parent, name, wrapped)
