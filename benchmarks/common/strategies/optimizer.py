"""The optimizer of every strategy."""

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
        plain = not any(isinstance(p, DTensor) for group in groups for p in group["params"])
        fused = True if plain else None  # one kernel for all; None: what DTensor can
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
