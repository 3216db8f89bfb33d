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
from benchmarks.common import program, strategies, training, vision
from benchmarks.common.session import Session, session
from benchmarks.common.strategies import Strategy
from benchmarks.common.workload import Batch


def options() -> argparse.ArgumentParser:
    return vision.options(__doc__)


def train_step(run: Session, strategy: Strategy, batch: Batch) -> None:
    """Forward, backward, update; ``run.lap`` marks the end of each part but the last."""
    if strategy.interleaved:  # --accumulate: several passes in turn
        loss = strategy.forward_backward(batch)
    else:
        loss = strategy.forward(batch)
        run.lap()
        strategy.backward(loss)
    run.lap()
    strategy.step()
    run.lap()
    run.log_loss(loss)


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    with session(args.device) as run:
        workload, task = vision.checked(args, run.group), vision.make_task(args)
        source = vision.make_source(args, run.group)
        training.check_correctness(run, *vision.reduced(args, run.group))

        strategy = strategies.build(args, workload, run.group)
        batches = source.stream(strategy.data_parallel_rank, strategy.data_parallel_size)
        for batch in training.timed_steps(run, args, task, strategy, batches):
            train_step(run, strategy, batch)

        training.report(run, args, task, strategy, size=args.image_size)
        training.profile(run, args, task, strategy, batches)


if __name__ == "__main__":
    program.run(main)
