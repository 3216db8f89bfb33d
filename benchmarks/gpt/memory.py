"""The memory that a GPT needs on a device, estimated before anything is built."""

import argparse
from dataclasses import replace

import torch

from benchmarks.common import fitting
from benchmarks.common.failure import SkippedError
from benchmarks.common.fitting import GIB, Memory
from benchmarks.common.strategies.batches import PIPELINES, pipeline_size
from benchmarks.gpt.rank_memory import RankMemory
from benchmarks.gpt.shapes import Shape


def estimate(shape: Shape, args: argparse.Namespace, ranks: int) -> Memory:
    """Memory of the rank that needs most, of ``ranks``, at the moment when it needs most.

    That is when the backward pass begins and all activations are there, or when it ends and all
    gradients are. Building needs no more: a block is filled in full, and sharded before the next.
    Not counted is what is not the allocator's: see ``fitting.CONTEXT``.
    """
    found = moments(shape, args, ranks)
    most = max(found, key=lambda memory: memory.total)
    return replace(most, host=max(memory.host for memory in found))


def moments(shape: Shape, args: argparse.Namespace, ranks: int) -> list[Memory]:
    """The memory of each rank that can need most, at the moments of ``RankMemory.moments``."""
    members = range(pipeline_size(args, ranks) if args.mode in PIPELINES else 1)
    found: list[Memory] = []
    for rank in members:
        found += RankMemory(shape, args, ranks, rank).moments()
    return found


def check_reference(shape: Shape, args: argparse.Namespace, device: torch.device) -> None:
    """Refuse a model whose narrow form does not fit one device: rank 0 trains it alone, in fp64.

    It has weights, gradients and the optimizer's states, and the weights of a second model.
    """
    numbers = 5 if args.optimizer == "adamw" else 4
    needed = 8.0 * numbers * shape.narrow(shape.block).parameters
    available = fitting.capacity(device) - (fitting.CONTEXT if device.type != "cpu" else 0)
    if args.check_correctness and needed > available:
        raise SkippedError(
            f"--check-correctness of {args.model} needs about {needed / GIB:.1f} GiB for one "
            f"device's model in fp64, but there are {available / GIB:.1f}: leave it out"
        )
