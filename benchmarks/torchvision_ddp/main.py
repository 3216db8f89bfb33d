"""Trains an image classifier of torchvision on several devices.

    torchrun --nproc-per-node 8 benchmarks/torchvision_ddp/main.py --model resnet50
    torchrun --nproc-per-node 8 benchmarks/torchvision_ddp/main.py --model vit_l_16 --mode fsdp
    python benchmarks/torchvision_ddp/main.py --model resnet50        a group of one, same code

The program is that of one device; what differs is the wrapper around the model, and that each
rank has its own images. The batch size is that of one rank. Backward ends when the gradients of all
ranks have been averaged, so all ranks step together, and the rate is that of all of them over
rank 0's step time:

    images/s = ranks * batch size / step time
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import trainer, vision
from benchmarks.common.session import session

MODES = ("ddp", "fsdp", "hsdp")


def options() -> argparse.ArgumentParser:
    """The command line."""
    return vision.options(__doc__, MODES, "ddp")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = options().parse_args(argv)
    with session(args.device, distributed=True) as run:
        vision.check(args)
        source = vision.source(args, run.group)
        trainer.train(run, args, vision.workload(args), source, vision.task(args))


if __name__ == "__main__":
    main()
