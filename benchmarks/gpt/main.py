"""Trains the GPT of ptd_benchmark, from 125 million to 10^12 parameters, in every mode.

    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model GPTSmall --mode ddp
    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model GPTXXXL --mode fsdp --dtype bf16
    torchrun --nproc-per-node 8 benchmarks/gpt/main.py --model GPTXXXL --mode pdp --dtype bf16
    python benchmarks/gpt/main.py --model GPTSmall --mode single

A step is forward, backward and the optimizer on --batch-size sequences of --block-size random
tokens for each replica that sees different data: each rank under ddp, fsdp and hsdp, each pipeline
under pdp, each group of --tp-size ranks under tp-fsdp; one for all under single, pipeline and tp.

    tokens/s = replicas * batch size * block size / step time
    model FLOP of a step, for B sequences in all = 72 B s l h^2 (1 + s/(6h) + V/(12 l h))
    TFLOP/s per GPU = model FLOP / ranks / step time / 1e12

with s = block size, l = layers, h = width, V = vocabulary. ptd_benchmark always counts
96 B s l h^2 (1 + s/(6h) + V/(16 l h)), which is what the hardware computes with every block
checkpointed: with --activation checkpoint the ratio of the two is told as hardware_flops_ratio.
A size that cannot fit is refused before it is built, with the memory that it would need. No rank
ever holds more of the model than it keeps, and one block: parameters get memory when they are
sharded, and their values by the seed and their name, the same in every mode.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.common import cli, loading, strategies, trainer
from benchmarks.common.data import Source
from benchmarks.common.failure import Refusal
from benchmarks.common.group import Group
from benchmarks.common.samples import Tokens
from benchmarks.common.session import session
from benchmarks.common.strategies.tensor import tensor_size
from benchmarks.common.trainer import Task
from benchmarks.common.workload import Workload
from benchmarks.gpt import memory, model, stages


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = cli.parser(__doc__)
    add = parser.add_argument
    add("--model", default="GPTSmall", help=f"one of {', '.join(model.SHAPES)}")
    add("--vocab-size", type=cli.positive, default=3072, help="words of the vocabulary")
    add("--block-size", type=cli.positive, default=128, help="tokens of a sequence")
    trainer.add_options(parser, batch_size=10)
    strategies.add_options(parser)
    return parser


def shape(args: argparse.Namespace, ranks: int) -> model.Shape:
    """The size that was asked for; ``Refusal`` for an unknown one, or heads that ranks divide."""
    if args.model not in model.SHAPES:
        raise Refusal(cli.unknown("model", args.model, model.SHAPES))
    found = model.shape_of(args.model, args.vocab_size, args.block_size)
    shards = tensor_size(args, ranks)
    if found.heads % shards:
        raise Refusal(f"{args.model} has {found.heads} heads, which {shards} ranks cannot share")
    if args.sequence_parallel and args.block_size % shards:
        raise Refusal(f"{args.block_size} tokens cannot be shared by {shards} ranks")
    return found


def workload(args: argparse.Namespace, size: model.Shape) -> Workload:
    """The GPT, as the strategies know it."""
    return Workload(
        make_model=partial(model.make, size),
        loss=model.loss,
        blocks=model.blocks_of,
        split=model.split,
        stages=stages.stages,
        stage_loss=model.stage_loss,
        fill=model.fill,
        tp_plan=partial(model.tp_plan, sequence=args.sequence_parallel),
    )


def source(args: argparse.Namespace, group: Group) -> Source:
    """Sequences of random tokens, other ones for each replica."""
    count = loading.samples(args, group.world_size)
    tokens = Tokens(count, args.block_size, args.vocab_size, args.seed)
    return loading.source(args, tokens, group)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the program."""
    args = options().parse_args(argv)
    with session(args.device, distributed=args.mode != "single") as run:
        size = shape(args, run.group.world_size)
        work = workload(args, size)
        strategies.check(args, work, run.group)
        estimate = memory.check(size, args, run.group)
        batch = args.batch_size
        task = Task(
            args.model, batch * args.block_size, "tokens", size.flop(batch), size.parameters
        )
        trainer.train(run, args, work, source(args, run.group), task)
        if run.group.rank == 0:
            run.tell(memory_estimate=estimate.mib())
            if args.activation == "checkpoint":
                more = size.flop(batch, recomputed=True) / size.flop(batch)
                run.tell(hardware_flops_ratio=round(more, 4))


if __name__ == "__main__":
    main()
