"""Trains BERT, GPT-2, T5 or ViT of the library `transformers`, in every mode that they support.

    torchrun --nproc-per-node 8 benchmarks/transformers/main.py --model hf_Bert --precision amp
    torchrun --nproc-per-node 8 benchmarks/transformers/main.py --model hf_T5_large --mode fsdp
    python benchmarks/transformers/main.py --model hf_GPT2 --mode single --scale tiny

The models have the sizes and, by default, the batches per GPU of ddp_experiments and torchbench,
and random weights: nothing is downloaded. Inputs and targets are random too: BERT and the decoder
of T5 are trained on tokens that are unrelated to their inputs, GPT-2 on the next token, ViT on
classes.

    tokens/s (images/s) = ranks * batch size * tokens / step time
    model FLOP of a step: see benchmarks/common/flop_count.py
    TFLOP/s per GPU = model FLOP / ranks / step time / 1e12

The pipeline modes support BERT, GPT-2 and ViT, with a separate output matrix (a stage cannot share
the embedding of another stage); the tensor parallel modes support BERT and ViT.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import (
    attention,
    cli,
    data,
    fitting,
    model_memory,
    overlap,
    program,
    strategies,
    training,
)
from benchmarks.common.failure import SkippedError, UnsupportedError, instead
from benchmarks.common.group import Group
from benchmarks.common.session import Session, session
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.batches import replica_batch, tensor_size
from benchmarks.common.training import Task
from benchmarks.common.workload import Batch, Workload, misaligned, repeated_blocks
from benchmarks.transformers import models, stages

SCALES = ("full", "tiny")
SCORE = 10  # bytes that the loss needs for each score, beside the four that it keeps
TENSOR, STAGED = ("bert", "vit"), ("bert", "gpt2", "vit")


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--model", default="hf_Bert", help=f"one of {', '.join(models.SIZES)}")
    add("--scale", choices=SCALES, default="full", help="tiny: 4 layers of width 128, for a CPU")
    add(
        "--layers",
        type=cli.positive,
        help="layers of an encoder or a decoder; by default the model's own",
    )
    add("--tokens", type=cli.positive, help="tokens of a sequence; by default the model's own")
    attention.add_option(parser)
    training.add_options(parser, batch_size=None)
    strategies.add_options(parser)
    return parser


def checked(args: argparse.Namespace, group: Group) -> tuple[models.Size, Workload]:
    """Size and model, which fit the devices, maybe with a smaller batch: see ``fitting.fit``."""
    size = make_size(args)
    args.batch_size = args.batch_size or size.batch_size
    check_mode(args, size, group.world_size)
    workload = make_workload(args, size)
    strategies.check(args, workload, group)
    scores = SCORE * size.length * size.vocabulary
    sample = models.samples(size, 1, args.seed)[0]
    needs = model_memory.estimate(args, workload, sample, group, scores)
    fitting.fit(args, group, workload, needs)
    return size, workload


def make_size(args: argparse.Namespace) -> models.Size:
    """The size of the model, with its own batch size; ``UnsupportedError`` if unknown."""
    if args.model not in models.SIZES:
        raise UnsupportedError(cli.unknown("model", args.model, models.SIZES))
    size = models.SIZES[args.model]
    return size.sized(tiny=args.scale == "tiny", layers=args.layers, tokens=args.tokens)


def check_mode(args: argparse.Namespace, size: models.Size, ranks: int) -> None:
    """Raise ``UnsupportedError`` if the model cannot be trained in the mode."""
    if args.sequence_parallel:
        raise UnsupportedError(
            "--sequence-parallel is for gpt: these models normalise full sequences"
        )
    if args.mode not in ("tp", "tp-fsdp"):
        return
    if size.family not in TENSOR:
        why = "projects queries, keys and values with one matrix"
        if size.family == "t5":
            why = "adds a position bias of all heads"
        raise UnsupportedError(f"{args.model} cannot use mode {args.mode}: its attention {why}")
    shards = tensor_size(args, ranks)
    if size.heads % shards:
        others = instead(ranks, lambda count: size.heads % tensor_size(args, count) == 0)
        raise SkippedError(
            f"{args.model} has {size.heads} heads, which {shards} ranks cannot share equally: "
            f"{others}"
        )


def make_workload(args: argparse.Namespace, size: models.Size) -> Workload:
    """The model in the form that the strategies need."""
    return Workload(
        make_model=partial(models.make, size, tied=args.mode not in training.PIPELINES),
        loss=models.t5_loss if size.family == "t5" else models.loss,
        blocks=repeated_blocks,
        split=data.split_batch,
        stages=stages.stages if size.family in STAGED else None,
        stage_loss=models.score_loss,
        tp_plan=stages.tp_plan if size.family in TENSOR else None,
    )


def make_source(args: argparse.Namespace, size: models.Size, group: Group) -> data.Source:
    """Random inputs and targets of the model; each replica has its own."""
    samples = models.samples(size, data.sample_count(args, group.world_size), args.seed)
    return data.source(args, samples, group)


def reduced(
    args: argparse.Namespace, size: models.Size, group: Group
) -> tuple[argparse.Namespace, Workload, data.Source]:
    """Options, model and data of ``--check-correctness``: all layers, but narrow; short inputs."""
    small, narrow = training.few(args, group), size.narrow()
    return small, make_workload(small, narrow), make_source(small, narrow, group)


def attention_kernel(args: argparse.Namespace, size: models.Size, device: torch.device) -> str:
    """The kernel of the model's attention, seen in one block."""
    small = replace(size, layers=1, vocabulary=64)
    samples = models.samples(small, 1, args.seed)
    return attention.kernel(args, make_workload(args, small), samples, device)


def odd_widths(args: argparse.Namespace, size: models.Size, ranks: int) -> dict[str, str]:
    """The fact which heads, and shards of tensor parallelism, are of a width that kernels pad."""
    shards = tensor_size(args, ranks)
    return misaligned(
        head=size.width // size.heads,
        attention=size.width // shards,
        perceptron=size.hidden // shards,
    )


def train_step(run: Session, strategy: Strategy, batch: Batch) -> None:
    """Forward, backward, update; ``run.lap`` marks the end of each part but the last."""
    if strategy.interleaved:  # pipelines and --accumulate: several passes in turn
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
    with session(args.device, distributed=args.mode != "single") as run:
        size, workload = checked(args, run.group)
        samples = replica_batch(args, run.group.world_size)
        items, flops = size.items(samples), size.flop(samples)
        task = Task(args.model, items, size.units, flops, models.parameters(workload))
        source = make_source(args, size, run.group)
        kernel = attention_kernel(args, size, run.device)
        with attention.only(args.attention, or_math=True):
            training.check_correctness(run, *reduced(args, size, run.group))

        strategy = strategies.build(args, workload, run.group)
        batches = source.stream(strategy.data_parallel_rank, strategy.data_parallel_size)
        with attention.only(args.attention):
            for batch in training.timed_steps(run, args, task, strategy, batches):
                train_step(run, strategy, batch)

            odd = odd_widths(args, size, run.group.world_size)
            training.report(run, args, task, strategy, attention=kernel, **odd)
            training.profile(run, args, task, strategy, batches)
            overlap.measure(run, strategy, batches)


if __name__ == "__main__":
    program.run(main)
