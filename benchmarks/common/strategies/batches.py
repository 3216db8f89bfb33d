"""The batch of a replica: in every mode, so many items for each of its ranks.

So a run on N ranks has one global batch, whatever its mode: --batch-size times N.
"""

import argparse

from torch.distributed.pipelining.schedules import PipelineScheduleSingle, get_schedule_class

MICROBATCHES = 4  # for each stage, at least: then the ideal bubble of 1F1B is below a fifth
PIPELINES = ("pipeline", "pdp")


def replica_ranks(args: argparse.Namespace, ranks: int) -> int:
    """Ranks that train on one batch together, of ``ranks``: a pipeline, or those of a matrix."""
    if args.mode in PIPELINES:
        return pipeline_size(args, ranks)
    return tensor_size(args, ranks)


def replica_batch(args: argparse.Namespace, ranks: int) -> int:
    """Items of a replica in a step: ``--batch-size`` for each of its ranks."""
    return int(args.batch_size) * replica_ranks(args, ranks)


def pipeline_size(args: argparse.Namespace, ranks: int) -> int:
    """Ranks of one pipeline: all, or ``--ndevice-per-proc`` of them under ``pdp``."""
    return int(args.ndevice_per_proc or 2) if args.mode == "pdp" else ranks


def tensor_size(args: argparse.Namespace, ranks: int) -> int:
    """Ranks that share the matrices of one model: all under ``tp``, by default 2 with FSDP."""
    if args.mode == "tp":
        return ranks
    if args.mode == "tp-fsdp":
        return int(args.tp_size or min(2, ranks))
    return 1


def stages_per_rank(args: argparse.Namespace) -> int:
    """The stages of each rank: one if the schedule allows no more, else ``--stages-per-rank``."""
    single = issubclass(get_schedule_class(args.schedule), PipelineScheduleSingle)
    return 1 if single else int(args.stages_per_rank)


def chunks(args: argparse.Namespace, ranks: int) -> int:
    """Microbatches of a replica's batch; by default at least ``MICROBATCHES`` for each stage.

    Each rank's share of the batch is cut into as few parts of equal size as this allows.
    """
    if args.chunks:
        return int(args.chunks)
    least = MICROBATCHES * stages_per_rank(args)
    divisors = (k for k in range(least, args.batch_size + 1) if args.batch_size % k == 0)
    return pipeline_size(args, ranks) * next(divisors, least)


def parts(args: argparse.Namespace, ranks: int) -> int:
    """The parts of a replica's batch that have a backward pass each: microbatches, or 1."""
    return chunks(args, ranks) if args.mode in PIPELINES else int(args.accumulate)


def in_flight(args: argparse.Namespace, ranks: int, rank: int = 0) -> int:
    """Passes through stages whose activations a rank of a pipeline keeps, at most.

    A pass is one microbatch in one stage. Counted in the orders that PyTorch makes.
    """
    size, stages = pipeline_size(args, ranks), stages_per_rank(args)
    every = chunks(args, ranks) * stages
    match args.schedule:
        case "1F1B":
            kept = size - rank
        case "Interleaved1F1B":
            kept = (stages - 1) * size + 2 * (size - 1 - rank) + 1
        case "InterleavedZeroBubble" | "ZBVZeroBubble":
            kept = stages * size
        case "DualPipeV":
            kept = stages * size + 1
        case _:  # GPipe and LoopedBFS: all forward passes come first
            kept = every
    return min(kept, every)
