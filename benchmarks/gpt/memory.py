"""The memory that a GPT needs on a device, estimated before anything is built."""

import argparse
import os
from dataclasses import replace

import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies.batches import PIPELINES, pipeline_size
from benchmarks.common.strategies.pipeline import ZERO_BUBBLE
from benchmarks.gpt.rank_memory import GIB, Memory, RankMemory
from benchmarks.gpt.shapes import Shape

CONTEXT = 2 * GIB  # of a GPU: CUDA's context and kernels, cuBLAS' workspaces, NCCL's buffers


def estimate(shape: Shape, args: argparse.Namespace, ranks: int) -> Memory:
    """Memory of the rank that needs most, of ``ranks``, at the moment when it needs most.

    That is when the backward pass begins and all activations are there, or when it ends and all
    gradients are. Building needs no more: a block is filled in full, and sharded before the next.
    Not counted is what is not the allocator's: see ``CONTEXT``.
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


def checked_estimate(shape: Shape, args: argparse.Namespace, group: Group) -> Memory:
    """The estimate; raises ``UnsupportedError`` if the device, or the host, has less memory."""
    memory = estimate(shape, args, group.world_size)
    # Zero-bubble schedules keep more than their microbatches in flight: by 1 to 15 %.
    least = args.mode in PIPELINES and args.schedule in ZERO_BUBBLE
    needs = f"{args.model} in mode {args.mode} on {group.world_size} ranks needs "
    needs += "at least" if least else "about"
    available, host = capacity(group.device), capacity(torch.device("cpu"))
    if group.device.type == "cpu":
        available -= memory.host
    else:
        available -= CONTEXT
    if group.device.type != "cpu" and memory.host > host:
        raise UnsupportedError(
            f"{needs} {memory.host / GIB:.1f} GiB of the host for offloading, but it has "
            f"{host / GIB:.1f}: offload less, or use more nodes"
        )
    if memory.total > available:
        raise UnsupportedError(
            f"{needs} {memory.total / GIB:.1f} GiB on each ({memory}), but there are "
            f"{available / GIB:.1f}: use a mode that shards more, more ranks, or smaller batches"
        )
    if args.check_correctness:
        _check_reference(shape, args, available)
    return memory


def _check_reference(shape: Shape, args: argparse.Namespace, available: float) -> None:
    """Refuse a model whose narrow form does not fit one device: rank 0 trains it alone, in fp64.

    It has weights, gradients and the optimizer's states, and the weights of a second model.
    """
    numbers = 5 if args.optimizer == "adamw" else 4
    needed = 8.0 * numbers * shape.narrow(shape.block).parameters
    if needed > available:
        raise UnsupportedError(
            f"--check-correctness of {args.model} needs about {needed / GIB:.1f} GiB for one "
            f"device's model in fp64, but there are {available / GIB:.1f}: leave it out"
        )


def capacity(device: torch.device) -> float:
    """Bytes of memory of a device; for a CPU, this rank's part of the host's memory."""
    if device.type == "cpu":
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / ranks
    return float(torch.get_device_module(device).get_device_properties(device).total_memory)
