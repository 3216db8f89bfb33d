"""What one rank has of a model: parameters, blocks, and the sizes of its numbers."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import pipeline
from benchmarks.common.strategies.batches import (
    PIPELINES,
    chunks,
    in_flight,
    pipeline_size,
    stages_per_rank,
    tensor_size,
)
from benchmarks.common.strategies.dtypes import FSDP_MODES, gathered_dtype, reduced_dtype
from benchmarks.common.strategies.sharded import shard_size
from benchmarks.gpt.shapes import Shape
from benchmarks.gpt.stages import stage_sizes


@dataclass(frozen=True)
class Bytes:
    """The sizes of a number."""

    own: int  # parameters, their gradients, the states of the optimizer
    low: int  # inputs of matrix products
    norms: int  # inputs of norms, which autocast computes in fp32
    gathered: int  # parameters gathered by FSDP
    reduced: int  # gradients that FSDP reduces
    copied: int  # copies of matrices by autocast, unless they are gathered in its type

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Bytes":
        precision, gathered = PRECISIONS[args.precision], gathered_dtype(args)
        types = precision.dtype, gathered or precision.dtype
        low = precision.autocast or types[1]
        norms = precision.dtype if precision.autocast else types[1]
        is_copied = precision.autocast not in (None, types[1])
        return cls(
            types[0].itemsize,
            low.itemsize,
            norms.itemsize,
            types[1].itemsize,
            reduced_dtype(args).itemsize,
            low.itemsize if is_copied else 0,
        )


@dataclass(frozen=True)
class Share:
    """The parameters and the layers of one rank."""

    kept: float  # parameters in its memory all the time
    gathered: float  # those that FSDP gathers for the whole backward pass
    first: float  # those of them that are gathered until it ends, in front of the blocks
    block: float  # those of a block that FSDP gathers for a while; 0 without FSDP
    matrices: float  # those that autocast would copy
    passes: float  # blocks whose activations it keeps, one for each microbatch in flight
    sent: float  # outputs of stages that it keeps beside them
    wrapped: float  # those of the blocks that ``--activation`` is for
    last_is_wrapped: bool  # whether the block is, with which its backward pass begins
    waiting: float = 0.0  # messages between stages, received early or sent and kept
    scored: float = 1.0  # microbatches whose scores it keeps; 0: it does not have the head


def share_of(shape: Shape, args: argparse.Namespace, ranks: int, rank: int) -> Share:
    """The part of the model that a rank has, and for how many passes it keeps activations."""
    tensor, layers = tensor_size(args, ranks), float(shape.layers)
    matrices = (layers * copied_matrices(shape, args) + shape.vocabulary * shape.width) / tensor
    if args.mode in PIPELINES:
        return _of_stages(shape, args, ranks, rank)
    every = args.activation_every
    wrapped = layers // every, shape.layers % every == 0
    total = float(shape.shard_parameters(tensor))
    shards = {"fsdp": ranks, "tp-fsdp": ranks // tensor}.get(args.mode, 1)
    if args.mode == "hsdp":
        shards = shard_size(args, ranks)
    if args.mode not in FSDP_MODES:
        return Share(total, 0.0, 0.0, 0.0, matrices, layers, 0.0, *wrapped)
    block = shape.block_parameters / tensor
    stays = total if args.reshard_after_forward is False else total - layers * block
    first = float(shape.end_parameters[0])
    return Share(total / shards, stays, first, block, matrices, layers, 0.0, *wrapped)


def _of_stages(shape: Shape, args: argparse.Namespace, ranks: int, rank: int) -> Share:
    size = pipeline_size(args, ranks)
    count = size * stages_per_rank(args)
    indices, all_stages = pipeline.indices(args, rank, size), stage_sizes(shape, count)
    parameters = float(sum(all_stages[k].parameters for k in indices))
    blocks = [all_stages[k].blocks for k in indices]
    in_stage = sum(blocks) / len(indices)
    flying, every = in_flight(args, ranks, rank), args.activation_every
    of_each = sum(count // every for count in blocks) / len(indices)
    copies = flying * in_stage * copied_matrices(shape, args)  # each microbatch has its own
    has_head = count - 1 in indices
    part = partial(
        Share,
        matrices=copies,
        passes=flying * in_stage,
        sent=0.0 if has_head else float(flying),
        wrapped=flying * of_each,
        last_is_wrapped=all_stages[max(indices)].blocks % every == 0,
        waiting=_waiting(args, ranks, indices, count, flying),
        scored=flying / len(indices) if has_head else 0.0,
        block=0.0,
    )
    if args.mode == "pdp" and args.replicated_by == "fully_shard":
        return part(kept=parameters * size / ranks, gathered=parameters, first=parameters)
    return part(kept=parameters, gathered=0.0, first=0.0)


def _waiting(
    args: argparse.Namespace, ranks: int, stages: Sequence[int], count: int, flying: int
) -> float:
    """Messages between a rank's ``stages``, of ``count``, and others that take memory for longer.

    The gradients that a schedule of several stages sends are kept until a step ends. Earlier
    versions of PyTorch have memory for all that a stage receives before a step begins.
    """
    inputs = sum(k > 0 and k - 1 not in stages for k in stages)
    gradients = sum(k < count - 1 and k + 1 not in stages for k in stages)
    messages = chunks(args, ranks) * inputs
    if pipeline.RECEIVES_INTO_OWN:
        messages += chunks(args, ranks) * gradients
    elif len(stages) == 1:
        return 0.0
    return float(max(messages - (flying if inputs else 0), 0))


def copied_matrices(shape: Shape, args: argparse.Namespace) -> int:
    """The weights of a block that autocast would copy: ``--float8`` casts them for each product."""
    return shape.block_matrices if args.float8 == "none" else 0


def wrapped_blocks(shape: Shape, args: argparse.Namespace, ranks: int) -> int:
    """The blocks of the model that ``--activation`` is for: every n-th of all, or of each stage."""
    blocks = [shape.layers]
    if args.mode in PIPELINES:
        stages = pipeline_size(args, ranks) * stages_per_rank(args)
        blocks = [stage.blocks for stage in stage_sizes(shape, stages)]
    return sum(count // args.activation_every for count in blocks)


def recomputed_flop(shape: Shape, args: argparse.Namespace, ranks: int, sequences: int) -> float:
    """``Shape.flop`` with what ``--activation`` computes again, in a step on all ``sequences``.

    A layer in fp8 saves its inputs behind its product. So its block is computed again to the end,
    unless a compiler sees that nothing depends on the last product.
    """
    return shape.flop(
        sequences,
        activation=args.activation,
        wrapped=wrapped_blocks(shape, args, ranks),
        last=args.float8 != "none" and args.compile in ("none", "eager"),
    )
