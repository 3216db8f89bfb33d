"""Trains an image classifier of torchvision on one device: images per second.

    python benchmarks/torchvision/main.py --model resnet50 --batch-size 64 --precision amp

A step is the wait for a batch, forward, backward and the optimizer (SGD with momentum). Weights
and images are random and seeded; nothing is downloaded.

    images/s = batch size / step time
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import vision
from common.precision import PRECISIONS
from common.session import session


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = vision.options(__doc__).parse_args(argv)
    with session(args.device) as run:
        precision = PRECISIONS[args.precision]
        precision.activate(run.device)
        model = vision.model(args, precision, run.device)
        optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, fused=True)
        scaler = precision.scaler(run.device)
        criterion = torch.nn.CrossEntropyLoss()

        for images, labels in run.steps(
            vision.batches(args, precision, run.group),
            work=args.batch_size,
            units="images",
            count=args.steps,
            warmup=args.warmup,
        ):
            optimizer.zero_grad()
            with precision.context(run.device):
                loss = criterion(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            run.watch(loss)


if __name__ == "__main__":
    main()
