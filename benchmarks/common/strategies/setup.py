"""What every way to build a strategy starts from."""

import argparse
import time
from dataclasses import dataclass

import torch
from torch import nn

from benchmarks.common import activation
from benchmarks.common.compiling import Compiler
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS, Precision
from benchmarks.common.strategies import weights
from benchmarks.common.strategies.optimizer import Optimizer
from benchmarks.common.workload import Workload


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
        """Read the options that are asked for more than once."""
        return cls(
            args, workload, group, Compiler(args.compile, args.optimize_ddp), time.perf_counter()
        )

    @property
    def device(self) -> torch.device:
        """The device of this rank."""
        return self.group.device

    @property
    def precision(self) -> Precision:
        """How it computes."""
        return PRECISIONS[self.args.precision]

    def elapsed(self) -> float:
        """Seconds since the building began."""
        return round(time.perf_counter() - self.began, 3)

    def model(self) -> nn.Module:
        """The model before it is spread: without memory, where the workload can fill it later.

        Else on the host with its values, the same on every rank.
        """
        if self.workload.fill is not None:
            with torch.device("meta"):
                return self.workload.make_model().to(self.precision.dtype)
        torch.manual_seed(self.args.seed)
        return self.workload.make_model().to(self.precision.dtype)

    def fill(self, model: nn.Module, part: nn.Module) -> None:
        """Give ``part`` of ``model`` memory on the device and values, if it has none yet."""
        if self.workload.fill is not None:
            weights.fill(model, part, self.workload.fill, self.device, self.args.seed)

    def placed(self, model: nn.Module) -> nn.Module:
        """All of ``model`` on the device."""
        self.fill(model, model)
        return model.to(self.device)

    def blocks(self, model: nn.Module) -> list[nn.Module]:
        """The blocks of ``model`` as they are now."""
        return list(self.workload.blocks(model))

    def save_memory(self, model: nn.Module) -> None:
        """Wrap the blocks as ``--activation`` says."""
        activation.apply(model, self.blocks(model), self.args.activation)

    def optimizer(self, model: nn.Module) -> Optimizer:
        """The optimizer of the parameters that ``model`` has now."""
        return Optimizer(model.parameters(), self.args)
