"""The memory that a GPT needs on a device, estimated before anything is built."""

import argparse
import math
import os
from dataclasses import dataclass, replace

import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies.batches import (
    PIPELINES,
    parts,
    pipeline_size,
    replica_batch,
    tensor_size,
)
from benchmarks.gpt.shapes import Shape
from benchmarks.gpt.shares import Bytes, Share, share_of

GIB = 2**30
CONTEXT = 2 * GIB  # of a GPU: CUDA's context and kernels, cuBLAS' workspaces, NCCL's buffers


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
    """Memory of the rank that needs most, of ``ranks``, at the moment when it needs most.

    That is when the backward pass begins and all activations are there, or when it ends and all
    gradients are. Building needs no more: a block is filled in full, and sharded before the next.
    Not counted is what is not the allocator's: see ``CONTEXT``.
    """
    found = moments(shape, args, ranks)
    most = max(found, key=lambda memory: memory.total)
    return replace(most, host=max(memory.host for memory in found))


def moments(shape: Shape, args: argparse.Namespace, ranks: int) -> list[Memory]:
    """The memory of each rank that can need most, at the beginning and at the end of backward."""
    members = range(pipeline_size(args, ranks) if args.mode in PIPELINES else 1)
    found: list[Memory] = []
    for rank in members:
        found += _of_rank(shape, args, ranks, rank)
    return found


def _of_rank(
    shape: Shape, args: argparse.Namespace, ranks: int, rank: int
) -> tuple[Memory, Memory]:
    """The memory of a rank of a pipeline, or of any rank, at the two moments of ``estimate``."""
    size, share = Bytes.of(args), share_of(shape, args, ranks, rank)
    states = 2 if args.optimizer == "adamw" else 1
    device = 0 if args.cpu_offload else 1
    kept, offloaded = share.kept * size.own * device, share.kept * size.own * (1 - device)
    pinned = offloaded * _rounding(shape, args, ranks)
    tokens = _tokens(shape, args, ranks)
    full, host = _activations(shape, args, ranks, share)
    block = _block_bytes(shape, args, ranks)
    scores = 3 * 4 * tokens * shape.vocabulary if share.has_head else 0.0
    block_gradients = shape.block_parameters / tensor_size(args, ranks) * size.own
    # Inside a block: gradients of its output and of the perceptron's tensor.
    inside = (shape.hidden + shape.width) / tensor_size(args, ranks) * tokens * size.low
    again = 0.0
    if args.activation in ("checkpoint", "selective") and share.last_is_wrapped:
        again = block - tokens * _selected_bytes(shape, args, ranks)
    # Of FSDP's blocks two are gathered, and the one before is being reduced. By then its own
    # activations are gone, and half of those of the block that follows.
    reducing = share.block * (size.reduced + size.gathered * 2 / 3)
    passing = 2 * share.block * size.gathered + max(reducing - 1.5 * block, 0)
    unreduced = share.gathered * size.gathered + max(share.gathered * size.reduced, reducing)
    if args.mode in PIPELINES:  # all are added up first, and then reduced block by block
        unreduced = (share.gathered + share.unit) * size.reduced
    begins = Memory(
        weights=kept + share.gathered * size.gathered + share.matrices * size.copied,
        gradients=_early_gradients(shape, args, ranks, share),
        optimizer=kept * states,
        activations=full + max(scores, inside + again + passing),
        host=pinned + offloaded * states + host,
    )
    ends = Memory(
        weights=kept + (share.gathered + share.block) * size.gathered,
        gradients=kept + unreduced,
        optimizer=begins.optimizer,
        # of the first block, whose own gradients are not there yet (FSDP: not reduced yet)
        activations=max(block + inside - (0 if share.block else block_gradients), 0),
        host=2 * pinned + offloaded * states,
    )
    return begins, ends


def _early_gradients(shape: Shape, args: argparse.Namespace, ranks: int, share: Share) -> float:
    """Bytes of gradients before a backward pass: of the parts before it, or DDP's buckets."""
    size = Bytes.of(args)
    if args.mode == "pdp" and share.gathered:
        return share.gathered * size.reduced
    if share.block:
        full = shape.shard_parameters(tensor_size(args, ranks))
        return full * size.reduced if args.accumulate > 1 else 0.0
    return share.kept * size.own if args.mode == "ddp" or parts(args, ranks) > 1 else 0.0


def _tokens(shape: Shape, args: argparse.Namespace, ranks: int) -> float:
    """The tokens of a microbatch, or of a part of a batch."""
    return replica_batch(args, ranks) * shape.block / parts(args, ranks)


def checked_estimate(shape: Shape, args: argparse.Namespace, group: Group) -> Memory:
    """The estimate; raises ``UnsupportedError`` if the device, or the host, has less memory."""
    memory = estimate(shape, args, group.world_size)
    needs = f"{args.model} in mode {args.mode} on {group.world_size} ranks needs about"
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


def _block_bytes(shape: Shape, args: argparse.Namespace, ranks: int) -> float:
    """Bytes of the activations of a block for a microbatch: ``Shape.block_activations``.

    Tensor parallelism shards them, but not the inputs of norms, unless tokens are sharded there,
    nor the inputs of qkv and of the perceptron, which are gathered.
    """
    size, tensor = Bytes.of(args), tensor_size(args, ranks)
    tokens = _tokens(shape, args, ranks)
    norms, others = shape.block_activations
    gathered = 2 * shape.width
    between = norms / tensor if args.sequence_parallel else norms
    inside = gathered + (others - gathered) / tensor
    return (between * size.norms + inside * size.low) * tokens


def _activations(
    shape: Shape, args: argparse.Namespace, ranks: int, share: Share
) -> tuple[float, float]:
    """Bytes that all blocks and the head keep for the backward pass, on the device and on the host.

    The head adds the input and the output of its norm. (The scores, their softmax and its gradient,
    all in fp32, are there for a moment.)
    """
    size, block = Bytes.of(args), _block_bytes(shape, args, ranks)
    tokens = _tokens(shape, args, ranks)
    ends = tokens * shape.width * size.low * share.sent
    if share.has_head:
        ends += tokens * shape.width * (size.norms + size.low)
    if args.activation == "noop":
        return share.passes * block + ends, 0.0
    kept = (share.passes - share.wrapped) * block + ends
    if args.activation == "offload":
        return kept, share.wrapped * _saved_on_host(shape, args, ranks)
    inputs = tokens * (shape.width * size.gathered + _selected_bytes(shape, args, ranks))
    return kept + share.wrapped * inputs, 0.0


def _selected_bytes(shape: Shape, args: argparse.Namespace, ranks: int) -> float:
    """Bytes of a token that ``--activation selective`` keeps: attention, every other product."""
    if args.activation != "selective":
        return 0.0
    kept = shape.width + sum(shape.product_widths[::2])
    return kept * Bytes.of(args).low / tensor_size(args, ranks)


def _saved_on_host(shape: Shape, args: argparse.Namespace, ranks: int) -> float:
    """Bytes on the host of a block's offloaded activations, each tensor in a block of its own."""
    size, tensor = Bytes.of(args), tensor_size(args, ranks)
    tokens = _tokens(shape, args, ranks)
    between = tokens / tensor if args.sequence_parallel else tokens
    found = 2 * _pinned(between * shape.width * size.norms)
    found += 2 * _pinned(tokens * shape.width * size.low)  # inputs of qkv and of the perceptron
    for width in shape.saved_widths[2:]:
        found += _pinned(tokens * width * size.low / tensor)
    return found


def _rounding(shape: Shape, args: argparse.Namespace, ranks: int) -> float:
    """By how much more memory FSDP's shards of a block take on the host, each in a block."""
    size = Bytes.of(args)
    shards = shape.parameters / max(share_of(shape, args, ranks, 0).kept, 1)
    sizes = [matrix * size.own / shards for matrix in shape.matrix_sizes]
    return sum(map(_pinned, sizes)) / sum(sizes)


def _pinned(size: float) -> float:
    """Bytes of pinned memory for a tensor: PyTorch rounds up to a power of two."""
    return 2.0 ** math.ceil(math.log2(max(size, 1)))
