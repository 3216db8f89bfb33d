"""The memory that a GPT needs on a device, estimated before anything is built."""

import argparse
import os
from dataclasses import dataclass

import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies.batches import (
    PIPELINES,
    in_flight,
    parts,
    pipeline_size,
    replica_batch,
    stages_per_rank,
    tensor_size,
)
from benchmarks.common.strategies.sharded import shard_size
from benchmarks.gpt.shapes import Shape
from benchmarks.gpt.stages import largest_stage

GIB = 2**30


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
        """The sum of all parts on the device, in bytes."""
        return self.weights + self.gradients + self.optimizer + self.activations

    def mib(self) -> dict[str, float]:
        """The parts as a payload, in MiB."""
        parts = {"total": self.total} | vars(self)
        return {name: round(value / 2**20, 1) for name, value in parts.items()}

    def __str__(self) -> str:
        parts = ("weights", "gradients", "optimizer", "activations")
        return ", ".join(f"{name} {getattr(self, name) / GIB:.1f}" for name in parts)


def estimate(shape: Shape, args: argparse.Namespace, ranks: int) -> Memory:
    """Memory of the rank that needs most, of ``ranks``.

    Weights and gradients are one number for each local parameter, optimizer state is one or two.
    FSDP also gathers two blocks at a time, and the embedding and the head during the full step.
    Building needs no more: a block is filled in full, and sharded before the next one. Activations:
    see ``_activations``.
    """
    precision = PRECISIONS[args.precision]
    size = precision.dtype.itemsize
    local, gathered = _parameters(shape, args, ranks)
    states = 2 if args.optimizer == "adamw" else 1
    on_device = 0 if args.cpu_offload else 1
    activations, offloaded = _activations(shape, args, ranks)
    return Memory(
        weights=(local * on_device + gathered) * size,
        gradients=(local * on_device + gathered) * size,
        optimizer=local * on_device * states * size,
        activations=activations,
        host=local * (1 - on_device) * (2 + states) * size + offloaded,
    )


def checked_estimate(shape: Shape, args: argparse.Namespace, group: Group) -> Memory:
    """The estimate; raises ``UnsupportedError`` if the device, or the host, has less memory."""
    memory = estimate(shape, args, group.world_size)
    needs = f"{args.model} in mode {args.mode} on {group.world_size} ranks needs about"
    available, host = capacity(group.device), capacity(torch.device("cpu"))
    if group.device.type == "cpu":
        available -= memory.host
    elif memory.host > host:
        raise UnsupportedError(
            f"{needs} {memory.host / GIB:.1f} GiB of the host for offloading, but it has "
            f"{host / GIB:.1f}: offload less, or use more nodes"
        )
    if memory.total > available:
        raise UnsupportedError(
            f"{needs} {memory.total / GIB:.1f} GiB on each ({memory}), but there are "
            f"{available / GIB:.1f}: use a mode that shards more, more ranks, or smaller batches"
        )
    return memory


def capacity(device: torch.device) -> float:
    """Bytes of memory of a device; for a CPU, this rank's part of the host's memory."""
    if device.type == "cpu":
        ranks = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / ranks
    return float(torch.get_device_module(device).get_device_properties(device).total_memory)


def _parameters(shape: Shape, args: argparse.Namespace, ranks: int) -> tuple[float, float]:
    """How many parameters a rank keeps, and how many it gathers for a while."""
    tensor = tensor_size(args, ranks)  # 1 except under tp and tp-fsdp
    gathered = 2 * shape.block_parameters / tensor + sum(shape.end_parameters)
    match args.mode:
        case "fsdp":
            return shape.parameters / ranks, gathered
        case "hsdp":
            return shape.parameters / shard_size(args, ranks), gathered
        case "tp":
            return shape.shard_parameters(ranks), 0
        case "tp-fsdp":
            return shape.shard_parameters(tensor) * tensor / ranks, gathered
        case "pipeline" | "pdp":
            of_rank = stages_per_rank(args)
            size = pipeline_size(args, ranks)
            stage = largest_stage(shape, size * of_rank) * of_rank
            if args.mode == "pdp" and args.replicated_by == "fully_shard":
                return stage * size / ranks, stage  # gathered until the step is over
            return stage, 0
    return shape.parameters, 0


def _activations(shape: Shape, args: argparse.Namespace, ranks: int) -> tuple[float, float]:
    """Bytes that the backward pass needs, on the device and on the host.

    A block keeps ``Shape.block_activations``: under autocast the inputs of the norms are in fp32.
    The head keeps three times the scores in fp32: the scores, their softmax, its gradient.
    """
    precision = PRECISIONS[args.precision]
    full, low = precision.dtype.itemsize, (precision.autocast or precision.dtype).itemsize
    tokens = replica_batch(args, ranks) * shape.block / parts(args, ranks)
    norms, others = shape.block_activations
    block = (norms * full + others * low) * tokens
    layers: float = shape.layers
    if args.mode in PIPELINES:
        stages = pipeline_size(args, ranks) * stages_per_rank(args)
        layers *= in_flight(args, ranks) / stages
    tensor, scores = tensor_size(args, ranks), 3 * 4 * tokens * shape.vocabulary
    match args.activation:
        case "noop":
            return layers * block / tensor + scores, 0
        case "checkpoint":
            return (layers * full * tokens * shape.width + block) / tensor + scores, 0
    return block / tensor + scores, layers * block / tensor
