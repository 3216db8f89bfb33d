"""Trains an image classifier of torchvision on several devices with DistributedDataParallel.

    torchrun --nproc-per-node 8 benchmarks/torchvision_ddp/main.py --model resnet50
    python benchmarks/torchvision_ddp/main.py --model resnet50        a group of one, same code

The program is that of one device; what differs is the wrapper around the model, and that each
rank has its own images. The batch size is that of one rank. Backward ends when the gradients of all
ranks have been averaged, so all ranks step together, and the rate is that of all of them over
rank 0's step time:

    images/s = ranks * batch size / step time
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import vision
from common.precision import PRECISIONS
from common.session import session


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = vision.options(__doc__).parse_args(argv)
    with session(args.device, distributed=True) as run:
        precision = PRECISIONS[args.precision]
        precision.activate(run.device)
        model = DistributedDataParallel(
            vision.model(args, precision, run.device),
            device_ids=run.group.device_ids,
            gradient_as_bucket_view=True,  # no copy of the gradients beside the buckets
            static_graph=True,
        )
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
