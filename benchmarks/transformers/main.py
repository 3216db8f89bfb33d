"""Trains BERT, GPT-2, T5 or ViT of the library `transformers`, in every mode that fits.

    torchrun --nproc-per-node 8 benchmarks/transformers/main.py --model hf_Bert --precision amp
    torchrun --nproc-per-node 8 benchmarks/transformers/main.py --model hf_T5_large --mode fsdp
    python benchmarks/transformers/main.py --model hf_GPT2 --mode single --scale tiny

The models have the sizes and, by default, the batches per GPU of ddp_experiments and torchbench,
and random weights: nothing is downloaded. They read random tokens or images: BERT guesses words
that have nothing to do with those it reads, GPT-2 the next one, T5's decoder others, ViT classes.

    tokens/s (images/s) = replicas * batch size * tokens / step time
    model FLOP of a step: see benchmarks/common/flop_count.py
    TFLOP/s per GPU = model FLOP / ranks / step time / 1e12

Pipelines have BERT, GPT-2 and ViT, with a scores' matrix of their own (a stage cannot share the
embedding of another); tensor parallelism has BERT and ViT.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, loading, strategies, trainer
from benchmarks.common.blocks import rows
from benchmarks.common.data import Source, split
from benchmarks.common.failure import Refusal
from benchmarks.common.group import Group
from benchmarks.common.session import session
from benchmarks.common.strategies.tensor import tensor_size
from benchmarks.common.trainer import Task
from benchmarks.common.workload import Workload
from benchmarks.transformers import models, stages

SCALES = ("full", "tiny")
TENSOR, STAGED = ("bert", "vit"), ("bert", "gpt2", "vit")


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--model", default="hf_Bert", help=f"one of {', '.join(models.SHAPES)}")
    add("--scale", choices=SCALES, default="full", help="tiny: 4 layers of width 128, for a CPU")
    add("--layers", type=cli.positive, help="of an encoder, or decoder; None: the model's own")
    add("--tokens", type=cli.positive, help="tokens of a sequence; None: the model's own")
    trainer.add_options(parser)
    parser.set_defaults(batch_size=None)  # the model's own
    strategies.add_options(parser)
    return parser


def shape(args: argparse.Namespace) -> models.Shape:
    """The size that was asked for, whose batch size is the default; ``Refusal`` if unknown."""
    if args.model not in models.SHAPES:
        raise Refusal(cli.unknown("model", args.model, models.SHAPES))
    found = models.SHAPES[args.model]
    return found.sized(tiny=args.scale == "tiny", layers=args.layers, tokens=args.tokens)


def workload(args: argparse.Namespace, size: models.Shape, ranks: int) -> Workload:
    """The model, as the strategies know it; ``Refusal`` where the mode does not fit."""
    staged = args.mode in trainer.PIPELINES
    if args.sequence_parallel:
        raise Refusal("--sequence-parallel is for gpt: these models normalise whole sequences")
    if args.mode in ("tp", "tp-fsdp"):
        if size.family not in TENSOR:
            why = "projects queries, keys and values with one matrix"
            why = "adds a position bias of all heads" if size.family == "t5" else why
            raise Refusal(f"{args.model} has no mode {args.mode}: its attention {why}")
        if size.heads % tensor_size(args, ranks):
            raise Refusal(
                f"{args.model} has {size.heads} heads, which {tensor_size(args, ranks)} ranks "
                "cannot share"
            )
    return Workload(
        make_model=partial(models.make, size, tied=not staged),
        loss=models.t5_loss if size.family == "t5" else models.loss,
        blocks=rows,
        split=split,
        stages=stages.stages if size.family in STAGED else None,
        stage_loss=models.score_loss,
        tp_plan=stages.tp_plan if size.family in TENSOR else None,
    )


def source(args: argparse.Namespace, size: models.Shape, group: Group) -> Source:
    """What the model reads, other samples for each replica."""
    samples = models.samples(size, loading.samples(args, group.world_size), args.seed)
    return loading.source(args, samples, group)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = options().parse_args(argv)
    with session(args.device, distributed=args.mode != "single") as run:
        size = shape(args)
        batch = args.batch_size = args.batch_size or size.batch_size
        work = workload(args, size, run.group.world_size)
        strategies.check(args, work, run.group)
        task = Task(
            args.model, size.items(batch), size.units, size.flop(batch), models.parameters(work)
        )
        trainer.train(run, args, work, source(args, size, run.group), task)


if __name__ == "__main__":
    main()
