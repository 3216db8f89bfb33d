"""Trains an image classifier of torchvision under Lightning's DDP: images per second.

    torchrun --nproc-per-node 8 benchmarks/lightning/main.py --model resnet152 --precision amp
    python benchmarks/lightning/main.py --model resnet152             one rank, the same code

In contrast to benchmarks/torchvision_ddp, Lightning's Trainer runs the loop, and the cost of its
loop is part of the step. Weights and images are random and seeded; nothing is downloaded. There is
no logger, no checkpoint and no progress bar. Lightning takes its batches from the same timed
iterator that the other programs loop over. So a step is the wait for its batch, and then all the
work of Lightning until it asks for the next batch: hooks, forward, backward, the optimizer (SGD
with momentum). Nothing in between waits for the device. `forward` ends when Lightning begins the
backward pass, `backward` ends with that pass, and the rest is `optimizer`. The rate is the images
of all ranks over the step time of rank 0:

    images/s = ranks * batch size / step time

It needs Lightning: `milabench install`, or the extra `lightning` of milabench_ddp.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, program, training, vision
from benchmarks.common.clocks import clock_of
from benchmarks.common.data import LOADERS
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.marks import Waits
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.session import Session, session
from benchmarks.common.strategies.data_parallel import BUFFERS
from benchmarks.common.strategies.gradient_marks import GradientMarks
from benchmarks.common.workload import Batch

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.plugins.environments import LightningEnvironment, TorchElasticEnvironment
    from lightning.pytorch.strategies import DDPStrategy
except ModuleNotFoundError as error:
    if error.name is None or error.name.split(".")[0] != "lightning":
        raise
    Trainer = None
    Callback = LightningModule = object

# Lightning's names for our precisions; tf32 is fp32 with the setting of ``Precision.activate``.
PRECISION = {
    "fp32": "32-true",
    "tf32": "32-true",
    "fp16": "16-true",
    "bf16": "bf16-true",
    "amp": "bf16-mixed",
    "amp-fp16": "16-mixed",
}


Loss = Callable[[torch.nn.Module, Batch], torch.Tensor]


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--model", default="resnet152", help="name of a classifier of torchvision.models")
    add("--batch-size", type=cli.positive, default=32, help="images in a step of each device")
    add("--image-size", type=cli.positive, default=224, help="height and width, in pixels")
    add("--channels-last", action="store_true", help="keep images as NHWC in memory")
    text = "; ".join(f"{name}: {what}" for name, what in LOADERS.items())
    add("--loader", choices=LOADERS, default="fixed", help=text)
    add("--data", type=Path, metavar="FOLDER", help="folder of images for --loader image-folder")
    add("--num-workers", type=cli.natural, default=2, help="worker processes of the loader")
    text = "amp: autocast to bf16; amp-fp16: autocast to fp16, with a gradient scaler"
    add("--precision", choices=PRECISION, default="fp32", help=text)
    add("--steps", type=cli.positive, default=30, help="number of measured steps")
    cli.add_seconds(add, "--steps")
    add("--warmup", type=cli.positive, default=5, help="steps before the measured ones")
    add("--lr", type=cli.positive_float, default=0.01, help="learning rate of SGD")
    add("--seed", type=int, default=0, help="seed of weights and images")
    parser.set_defaults(trainer=None, mode="ddp")  # --loader decides; a rank is a replica
    return parser


class Batches:
    """An iterator with a length, so that Lightning takes one batch at a time and none ahead.

    The length is an upper bound: the training ends with the batches.
    """

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Batch]:
        return self._batches

    def __len__(self) -> int:
        return 2**31


class Classifier(LightningModule):
    """The module that Lightning trains."""

    def __init__(self, model: torch.nn.Module, loss: Loss, lr: float) -> None:
        super().__init__()
        self.model, self.loss, self.lr = model, loss, lr

    def training_step(self, batch: Batch) -> torch.Tensor:
        return self.loss(self.model, batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.model.parameters(), self.lr, momentum=0.9, fused=True)

    def transfer_batch_to_device(self, batch: Batch, _device: torch.device, _index: int) -> Batch:
        """The batch as it is: the iterator has placed it."""
        return batch


class Measure(Callback):
    """Marks the parts of a step and what DDP waits for, and logs the loss."""

    def __init__(self, run: Session) -> None:
        self.run, self.waits = run, Waits(clock_of(run.device))

    def on_train_start(self, trainer: Any, _module: Any) -> None:
        """Mark the gradients: the model is wrapped by now."""
        self.marks = GradientMarks(trainer.strategy.model, self.waits)

    def on_before_backward(self, _trainer: Any, _module: Any, _loss: torch.Tensor) -> None:
        self.run.lap()

    def on_after_backward(self, _trainer: Any, _module: Any) -> None:
        """Mark the end of the backward pass, with the all-reduces of DDP."""
        self.run.lap()
        self.marks.passed()

    def on_train_batch_end(
        self, _trainer: Any, _module: Any, outputs: Any, _batch: Batch, _index: int
    ) -> None:
        self.run.log_loss(outputs["loss"])


def trainer(args: argparse.Namespace, run: Session, callback: Callback) -> Trainer:
    """A Trainer that only trains."""
    local_ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    # Set explicitly: in a Slurm job Lightning would assume that srun started it.
    environment = LightningEnvironment
    if "LOCAL_WORLD_SIZE" in os.environ:
        environment = TorchElasticEnvironment
    return Trainer(
        accelerator="cpu" if run.device.type == "cpu" else "gpu",
        devices=local_ranks,
        num_nodes=run.group.world_size // local_ranks,
        # As torchvision_ddp: a rank that is sent buffers before each forward pass waits for rank 0.
        strategy=DDPStrategy(
            cluster_environment=environment(),
            gradient_as_bucket_view=True,
            static_graph=True,
            **{BUFFERS: False},
        ),
        precision=PRECISION[args.precision],
        max_epochs=1,
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,  # each rank already has its own batches
        benchmark=True,
    )


def main(argv: Sequence[str] | None = None) -> None:
    args = options().parse_args(argv)
    with session(args.device, distributed=True) as run:
        if Trainer is None:
            raise UnsupportedError(
                "lightning is not installed: run `milabench install` or install it"
            )
        if args.precision == "amp-fp16" and run.device.type == "cpu":
            raise UnsupportedError(
                "Lightning replaces amp-fp16 by amp on a CPU: use --precision amp"
            )
        vision.check_model(args)
        PRECISIONS[args.precision].activate(run.device)
        workload, task = vision.make_workload(args), vision.make_task(args)
        torch.manual_seed(args.seed)  # the same weights on every rank
        model = Classifier(workload.make_model(), workload.loss, args.lr)
        measure = Measure(run)
        steps = run.steps(
            vision.make_source(args, run.group).stream(run.group.rank, run.group.world_size),
            work=task.items,
            units=task.units,
            count=args.steps,
            warmup=args.warmup,
            seconds=args.seconds,
            parts=("forward", "backward", "optimizer"),
            waits=measure.waits,
        )
        trainer(args, run, measure).fit(model, Batches(steps))
        if run.group.rank == 0:
            ranks = run.group.world_size
            facts = training.model_facts(run, task, "ddp", args.batch_size, ranks)
            run.report(model=facts, compute_dtype=PRECISIONS[args.precision].compute_dtype)


if __name__ == "__main__":
    program.run(main)
