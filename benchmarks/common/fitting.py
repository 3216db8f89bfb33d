"""Whether a model fits the devices, by an estimate, and the largest batch that does."""

import argparse
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from benchmarks.common import strategies
from benchmarks.common.failure import SkippedError, UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies.batches import PIPELINES
from benchmarks.common.strategies.pipeline import ZERO_BUBBLE
from benchmarks.common.workload import Workload

GIB = 2**30
CONTEXT = 2.0 * GIB  # of a GPU: CUDA's context and kernels, cuBLAS' workspaces, NCCL's buffers
SPARE = 1.05  # of an estimate: what the allocator of a GPU cannot use, and what the estimate misses
SPARE_ZERO_BUBBLE = 1.15  # which keep more than their microbatches in flight
MULTIPLE = 8  # of which a smaller batch is, if it can


@dataclass(frozen=True)
class Memory:
    """Bytes on one device."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    host: float = 0.0  # offloaded to the host; not in the total

    @property
    def total(self) -> float:
        return self.weights + self.gradients + self.optimizer + self.activations

    def mib(self) -> dict[str, float]:
        """The parts as a payload, in MiB."""
        parts = {"total": self.total} | vars(self)
        return {name: round(value / 2**20, 1) for name, value in parts.items()}

    def __str__(self) -> str:
        parts = ("weights", "gradients", "optimizer", "activations")
        return ", ".join(f"{name} {getattr(self, name) / GIB:.1f}" for name in parts)


def fit(
    args: argparse.Namespace,
    group: Group,
    workload: Workload,
    needs: Callable[[argparse.Namespace], Memory],
) -> Memory:
    """The memory that a rank ``needs`` with these options, once they can be trained here.

    Where that is more than its device has, a smaller batch is looked for. It takes the place of
    ``args.batch_size`` under ``--fit-batch``; without the option ``SkippedError`` names it. The
    device of all ranks that has least decides. Raises what ``strategies.check`` does, which comes
    first: a device that lacks the precision is told so, whatever it has of memory.
    """
    strategies.check(args, workload, group)
    memory, on_gpu = needs(args), group.device.type != "cpu"
    room, host = -group.largest(-capacity(group.device)), capacity(torch.device("cpu"))
    zero_bubble = args.mode in PIPELINES and args.schedule in ZERO_BUBBLE
    spare, beside = 1.0, memory.host
    if on_gpu:
        spare, beside = SPARE_ZERO_BUBBLE if zero_bubble else SPARE, CONTEXT
    usable = max((room - beside) / spare, 0.0)

    def fits(found: Memory) -> bool:
        return found.total <= usable and not (on_gpu and found.host > host)

    if fits(memory):
        return memory
    ranks = "1 rank" if group.world_size == 1 else f"{group.world_size} ranks"
    why = f"{args.model} in mode {args.mode} on {ranks} needs "
    why += "at least" if zero_bubble else "about"
    if memory.total > usable:
        why += f" {memory.total / GIB:.1f} GiB on each ({memory}), "
        why += f"but {usable / GIB:.1f} can be used"
    else:
        why += f" {memory.host / GIB:.1f} GiB of the host for offloading, but it has "
        why += f"{host / GIB:.1f}"
    found, fewer = memory, args
    for fewer in _smaller(args, group, workload):
        found = needs(fewer)
        if fits(found):
            break
    else:
        least = math.ceil((found.total * spare + beside) / GIB)
        advice = f"use a mode that shards more, more ranks, or devices of {least} GiB, which fit "
        advice += f"--batch-size {fewer.batch_size}"
        if found.total <= usable:
            advice = "offload less, or use more nodes"
        raise SkippedError(f"{why}: {advice}")
    if not args.fit_batch:
        raise SkippedError(f"{why}: --batch-size {fewer.batch_size} fits")
    args.fitted = {"asked_batch_size": args.batch_size, "device_gib": round(room / GIB, 1)}
    args.batch_size = fewer.batch_size
    return found


def _smaller(
    args: argparse.Namespace, group: Group, workload: Workload
) -> Iterator[argparse.Namespace]:
    """The options with smaller batches that can be trained, the largest first."""
    batches = range((args.batch_size - 1) // MULTIPLE * MULTIPLE, 0, -MULTIPLE)
    for batch in (*batches, *(few for few in (4, 2, 1) if few < args.batch_size)):
        fewer = argparse.Namespace(**vars(args) | {"batch_size": batch})
        try:
            strategies.check(fewer, workload, group)
        except UnsupportedError:
            continue
        yield fewer


def capacity(device: torch.device) -> float:
    """Bytes of memory of a device; for a CPU, this rank's part of the host's memory."""
    if device.type == "cpu":
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / ranks
    return float(torch.get_device_module(device).get_device_properties(device).total_memory)
