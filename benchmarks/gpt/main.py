"""Trains the GPT of ptd_benchmark (125 million to 10^12 parameters) or a Llama 3, in every mode.

    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model GPTSmall --mode ddp
    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model GPTXXXL --mode fsdp --dtype bf16
    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model GPTXXXL --mode pdp --dtype bf16
    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model llama3-8b --mode fsdp --batch-size 1
    python benchmarks/gpt/main.py --model GPTSmall --mode single

A step is forward, backward and the optimizer on --batch-size sequences of --block-size random
tokens for each rank, in every mode. A replica trains on those of its ranks: it is a rank under ddp,
fsdp and hsdp, a pipeline under pdp, a group of --tp-size ranks under tp-fsdp; pipeline and tp have
one replica of all ranks.

    tokens/s = ranks * batch size * block size / step time
    model FLOP of a step, for B sequences in all = 6 B s (l (m + 2 s h) + V h)
    TFLOP/s per GPU = model FLOP / ranks / step time / 1e12

with s = block size, l = layers, h = width, V = vocabulary, m = weights in the matrices of a block
(12 h^2 in a GPT). With --activation checkpoint the hardware computes the blocks once more in the
backward pass: hardware_flops_ratio is the ratio of these operations to the model's. ptd_benchmark
always counts them. A model that cannot fit is refused before it is built, with the memory that it
would need. No rank ever has more of the model in memory than its own part and one block: parameters
get memory when they are sharded. Their values depend on the seed and on their name alone, so they
are the same in every mode.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import attention, cli, data, fitting, overlap, program, strategies, training
from benchmarks.common.failure import SkippedError, UnsupportedError, instead
from benchmarks.common.group import Group
from benchmarks.common.session import Session, session
from benchmarks.common.strategies import Strategy
from benchmarks.common.strategies.batches import replica_batch, tensor_size
from benchmarks.common.training import Task
from benchmarks.common.workload import Batch, Workload, misaligned
from benchmarks.gpt import llama, memory, model, stages
from benchmarks.gpt.shapes import CHECKED_TOKENS, SHAPES, Llama, Shape, shape_of
from benchmarks.gpt.shares import recomputed_flop


def options() -> argparse.ArgumentParser:
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--model", default="GPTSmall", help=f"one of {', '.join(SHAPES)}")
    own = "by default 3072 for a GPT, 128256 for a Llama"
    add("--vocab-size", type=cli.positive, help=f"number of different tokens; {own}")
    own = "by default 128 for a GPT, 8192 for a Llama"
    add("--block-size", type=cli.positive, help=f"tokens of a sequence; {own}")
    attention.add_option(parser)
    training.add_options(parser, batch_size=10)
    strategies.add_options(parser)
    return parser


def checked(args: argparse.Namespace, group: Group) -> tuple[Shape, Workload, fitting.Memory]:
    """Shape and model, which fit the devices, maybe with a smaller batch: see ``fitting.fit``."""
    shape = checked_shape(args, group.world_size)
    workload = make_workload(args, shape)
    needs = partial(memory.estimate, shape, ranks=group.world_size)
    estimate = fitting.fit(args, group, workload, needs)
    memory.check_reference(shape, args, group.device)
    return shape, workload, estimate


def checked_shape(args: argparse.Namespace, ranks: int) -> Shape:
    """The shape of the model.

    ``UnsupportedError`` if unknown, ``SkippedError`` if ``ranks`` cannot share it equally.
    """
    if args.model not in SHAPES:
        raise UnsupportedError(cli.unknown("model", args.model, SHAPES))
    shape = shape_of(args.model, args.vocab_size, args.block_size)
    shards = tensor_size(args, ranks)
    tokens = shape.block if args.sequence_parallel else 0

    def share(count: int) -> bool:
        return not (shape.groups % tensor_size(args, count) or tokens % tensor_size(args, count))

    if not share(ranks):
        heads = "heads" if shape.groups == shape.heads else "heads of keys and values"
        what = f"{shape.groups} {heads}" + (f" and {tokens} tokens" if tokens % shards else "")
        raise SkippedError(
            f"{args.model} has {what}, which {shards} ranks cannot share equally: "
            f"{instead(ranks, share)}"
        )
    return shape


def make_workload(args: argparse.Namespace, shape: Shape) -> Workload:
    """The model in the form that the strategies need."""
    make = partial(llama.make, shape) if isinstance(shape, Llama) else partial(model.make, shape)
    return Workload(
        make_model=make,
        loss=model.loss,
        blocks=model.blocks_of,
        ends=model.ends_of,
        split=data.split_batch,
        stages=stages.stages,
        stage_loss=model.stage_loss,
        fill=model.fill,
        tp_plan=partial(model.tp_plan, sequence=args.sequence_parallel),
    )


def make_source(args: argparse.Namespace, shape: Shape, group: Group) -> data.Source:
    """Sequences of random tokens; each replica has its own."""
    count = data.sample_count(args, group.world_size)
    tokens = data.Tokens(count, shape.block, shape.vocabulary, args.seed)
    return data.source(args, tokens, group)


def reduced(
    args: argparse.Namespace, shape: Shape, group: Group
) -> tuple[argparse.Namespace, Workload, data.Source]:
    """Options, model and data of ``--check-correctness``: all layers, but narrow; few tokens."""
    small = training.few(args, group)
    shards = tensor_size(args, group.world_size)  # each has some tokens and some heads
    narrow = shape.narrow(min(shape.block, shards * math.ceil(CHECKED_TOKENS / shards)))
    return small, make_workload(small, narrow), make_source(small, narrow, group)


def attention_kernel(args: argparse.Namespace, shape: Shape, device: torch.device) -> str:
    """The kernel of the model's attention, seen in one block."""
    small = replace(shape, layers=1, vocabulary=8)
    tokens = data.Tokens(1, small.block, small.vocabulary, args.seed)
    return attention.kernel(args, make_workload(args, small), tokens, device)


def odd_widths(args: argparse.Namespace, shape: Shape, ranks: int) -> dict[str, str]:
    """The fact which heads, and shards of tensor parallelism, are of a width that kernels pad."""
    shards = tensor_size(args, ranks)
    return misaligned(
        head=shape.head,
        attention=shape.width // shards,
        perceptron=shape.hidden // shards,
        vocabulary=-(-shape.vocabulary // shards),
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
        shape, workload, estimate = checked(args, run.group)
        sequences = replica_batch(args, run.group.world_size)
        tokens, flops = sequences * shape.block, shape.flop(sequences)
        task = Task(args.model, tokens, "tokens", flops, shape.parameters)
        source = make_source(args, shape, run.group)
        kernel = attention_kernel(args, shape, run.device)
        with attention.only(args.attention, or_math=True):
            training.check_correctness(run, *reduced(args, shape, run.group))

        strategy = strategies.build(args, workload, run.group)
        batches = source.stream(strategy.data_parallel_rank, strategy.data_parallel_size)
        with attention.only(args.attention):
            for batch in training.timed_steps(run, args, task, strategy, batches):
                train_step(run, strategy, batch)

            odd = odd_widths(args, shape, run.group.world_size)
            odd |= {"size": shape.block, "vocabulary": shape.vocabulary}
            training.report(run, args, task, strategy, attention=kernel, **odd)
            training.profile(run, args, task, strategy, batches)
            overlap.measure(run, strategy, batches)
        if run.group.rank == 0:
            run.report(memory_estimate=estimate.mib())
            if args.activation in ("checkpoint", "selective"):
                recomputed = recomputed_flop(shape, args, run.group.world_size, sequences)
                run.report(hardware_flops_ratio=round(recomputed / flops, 4))


if __name__ == "__main__":
    program.run(main)
