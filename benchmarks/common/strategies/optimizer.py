"""The optimizer of a strategy, over plain and sharded parameters."""

import argparse
from collections.abc import Iterable

import torch
from torch import nn
from torch.distributed.tensor import DTensor

OPTIMIZERS = ("sgd", "adamw")


class Optimizer:
    """SGD with momentum, or AdamW, over parameters of any placement."""

    def __init__(self, parameters: Iterable[nn.Parameter], args: argparse.Namespace) -> None:
        """Update ``parameters`` as ``--optimizer`` and ``--lr`` say."""
        groups = _by_mesh(parameters)
        sharded = any(isinstance(p, DTensor) for group in groups for p in group["params"])
        self.name = str(args.optimizer)
        # PyTorch's own choice for a ``DTensor`` would be a loop, or foreach on a GPU. It has a rule
        # for the fused kernel of AdamW, but none for that of SGD.
        self.implementation = "foreach" if sharded and self.name == "sgd" else "fused"
        how = {self.implementation: True}
        if self.name == "sgd":
            self._torch: torch.optim.Optimizer = torch.optim.SGD(
                groups, args.lr, momentum=0.9, **how
            )
        else:
            self._torch = torch.optim.AdamW(groups, args.lr, **how)

    def metrics(self) -> dict[str, str]:
        """Which optimizer, and how it goes over the parameters: one kernel for all, or several."""
        return {"optimizer_implementation": f"{self.name}, {self.implementation}"}

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
