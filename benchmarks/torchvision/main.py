"""Trains an image classifier of torchvision on one device, with SGD on random images.

    python benchmarks/torchvision/main.py --model resnet50 --precision amp --channels-last
    python benchmarks/torchvision/main.py --trainer e2e --loader image-folder --data FOLDER

The model has random weights and 1000 classes; nothing is downloaded. A step is all of training: the
wait for a batch, forward, backward, and the optimizer's update (momentum 0.9).

    images/s = batch size / step time
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import trainer, vision
from benchmarks.common.session import session


def options() -> argparse.ArgumentParser:
    """The command line."""
    return vision.options(__doc__)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = options().parse_args(argv)
    with session(args.device) as run:
        vision.check(args)
        source = vision.source(args, run.group)
        trainer.train(run, args, vision.workload(args), source, vision.task(args))


if __name__ == "__main__":
    main()
