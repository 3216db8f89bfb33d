"""Trains an image classifier of torchvision on several devices.

    torchrun --nproc-per-node 8 benchmarks/torchvision_ddp/main.py --model resnet50
    torchrun --nproc-per-node 8 benchmarks/torchvision_ddp/main.py --model vit_l_16 --mode fsdp
    python benchmarks/torchvision_ddp/main.py --model resnet50        one rank, the same code

It is the program `torchvision` with a wrapper around the model; each rank has its own images. The
batch size is that of one rank. The backward pass ends when the gradients of all ranks have been
averaged. So all ranks step together, and the rate is the images of all ranks over the step time of
rank 0:

    images/s = ranks * batch size / step time
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import overlap, program, strategies, training, vision
from benchmarks.common.session import Session, session
from benchmarks.common.strategies import Strategy
from benchmarks.common.workload import Batch

MODES = ("ddp", "fsdp", "hsdp")


def options() -> argparse.ArgumentParser:
    return vision.options(__doc__, MODES, "ddp")


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
    with session(args.device, distributed=True) as run:
        workload, task = vision.checked(args, run.group), vision.make_task(args)
        source = vision.make_source(args, run.group)
        training.check_correctness(run, *vision.reduced(args, run.group))

        strategy = strategies.build(args, workload, run.group)
        batches = source.stream(strategy.data_parallel_rank, strategy.data_parallel_size)
        for batch in training.timed_steps(run, args, task, strategy, batches):
            train_step(run, strategy, batch)

        training.report(run, args, task, strategy, size=args.image_size)
        training.profile(run, args, task, strategy, batches)
        overlap.measure(run, strategy, batches)


if __name__ == "__main__":
    program.run(main)
