"""The parts that every strategy is built from: model, values, optimizer, wrapped blocks."""

import argparse
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS, Precision
from benchmarks.common.strategies import float8, parameters
from benchmarks.common.strategies.activations import wrap_blocks
from benchmarks.common.strategies.batches import tensor_size
from benchmarks.common.strategies.compiling import Compiler
from benchmarks.common.strategies.optimizer import Optimizer
from benchmarks.common.workload import Workload

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
        compiler = Compiler(args.compile, args.optimize_ddp, args.compile_mode)
        return cls(args, workload, group, compiler, time.perf_counter())

    @property
    def device(self) -> torch.device:
        return self.group.device

    @property
    def precision(self) -> Precision:
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
                return self._typed()
        torch.manual_seed(self.args.seed)
        return self._typed()

    def _typed(self) -> nn.Module:
        model = self.workload.make_model().to(self.precision.dtype)
        if self.args.float8 != "none":
            shards = tensor_size(self.args, self.group.world_size)
            float8.swap(self.blocks(model), self.args.float8, shards)
        return model

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
        """Wrap blocks as ``--activation`` and ``--activation-every`` say."""
        args = self.args
        wrap_blocks(model, self.blocks(model), args.activation, args.activation_every)

    def scaler(self) -> torch.amp.GradScaler:
        """The gradient scaler; the check of gradients begins at a scale where none overflow."""
        scale = getattr(self.args, "first_loss_scale", FIRST_LOSS_SCALE)
        return self.precision.scaler(self.device, scale)

    def optimizer(self, model: nn.Module, stages: dist.ProcessGroup | None = None) -> Optimizer:
        """The optimizer of the parameters that ``model`` has now; ``stages``: in a pipeline."""
        return Optimizer(model.parameters(), self.args, stages)
