"""The updates of a strategy in its own types, beside the same optimizer in fp64.

Both get the same gradients, those of the strategy, and parameters of 0, so that an update is not
lost in the rounding of what it is added to.
"""

import argparse
from collections.abc import Mapping

import torch
from torch import nn

from benchmarks.common.gradients import Difference, Gradient, Part, difference, part_of
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.optimizer import Optimizer
from benchmarks.common.strategies.parameters import local, plain_name


class Updates:
    """The updates of this rank's parts of the parameters."""

    def __init__(self, strategy: Strategy, args: argparse.Namespace) -> None:
        self._strategy = strategy
        parameters = list(strategy.model.named_parameters())
        self._start = [local(p.detach()).clone() for _, p in parameters]
        self._exact = {
            plain_name(name): nn.Parameter(local(p.detach()).cpu().double())
            for name, p in parameters
        }
        self._optimizer = Optimizer(self._exact.values(), args)
        host = torch.device("cpu")
        scaler = PRECISIONS[args.precision].scaler(host, args.first_loss_scale)
        self._loss_scale = scaler.get_scale()  # not the strategy's word for it
        self._unscaled = PRECISIONS["fp64"].scaler(host, 1.0)

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Gradient]) -> dict[Part, Difference]:
        """Let the strategy update; how far this rank's part of each update is from the right one.

        ``gradients`` are those that the strategy has now.
        """
        model = self._strategy.model
        for name, gradient in gradients.items():
            self._exact[name].grad = gradient.values.double() / self._loss_scale
        for parameter in (*model.parameters(), *self._exact.values()):
            local(parameter).zero_()
        self._strategy.step()
        self._optimizer.step(self._unscaled)
        found = {}
        for name, parameter in model.named_parameters():
            plain = plain_name(name)
            mine, right = local(parameter), self._exact[plain].detach()
            least = torch.finfo(mine.dtype).smallest_normal * torch.finfo(mine.dtype).eps
            found[part_of(plain, parameter)] = difference(
                mine.cpu().double(), right, least * right.sign()
            )
        return found

    @torch.no_grad()
    def restore(self) -> None:
        """Give the parameters their first values back."""
        for parameter, start in zip(self._strategy.model.parameters(), self._start, strict=True):
            local(parameter).copy_(start)
