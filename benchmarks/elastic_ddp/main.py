"""Trains the toy model of PyTorch's tutorial "Getting Started with DDP", started by torchrun.

    torchrun --nproc-per-node 2 benchmarks/elastic_ddp/main.py
    python benchmarks/elastic_ddp/main.py                             one rank, the same code

The model is so small (10 -> 10 -> 5) that computing it takes almost no time: the step is the cost
of DDP itself and the latency of the smallest all-reduce. As in the tutorial, every step draws new
random inputs and targets; the loss is the mean squared error, the optimizer is SGD.

    items/s = ranks * batch size / step time
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, program
from benchmarks.common.session import session


class ToyModel(nn.Module):
    """Two linear layers with a ReLU between them."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(10, 10)
        self.out = nn.Linear(10, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map inputs of 10 features to outputs of 5."""
        return self.out(torch.relu(self.hidden(x)))


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--batch-size", type=cli.positive, default=20, help="items in a step of each device")
    add("--steps", type=cli.positive, default=2000, help="number of measured steps")
    cli.add_seconds(add, "--steps")
    add("--warmup", type=cli.natural, default=100, help="steps before the measured ones")
    add("--lr", type=cli.positive_float, default=0.001, help="learning rate of SGD")
    add("--seed", type=int, default=0, help="seed of weights, inputs and targets")
    return parser


def samples(batch_size: int, device: torch.device) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Random inputs and targets, without end."""
    while True:
        yield torch.randn(batch_size, 10, device=device), torch.randn(batch_size, 5, device=device)


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    with session(args.device, distributed=True) as run:
        torch.manual_seed(args.seed)  # the same weights on every rank
        model = DistributedDataParallel(ToyModel().to(run.device), device_ids=run.group.device_ids)
        torch.manual_seed(args.seed + run.group.rank)  # different data on every rank
        optimizer = torch.optim.SGD(model.parameters(), args.lr)
        criterion = nn.MSELoss()

        for inputs, targets in run.steps(
            samples(args.batch_size, run.device),
            work=args.batch_size,
            units="items",
            count=args.steps,
            warmup=args.warmup,
            seconds=args.seconds,
        ):
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            run.log_loss(loss)


if __name__ == "__main__":
    program.run(main)
