"""The memory that a rank needs to train a model which has no formula of its own.

A forward pass is counted on fake tensors of one item and of two: they and what it leaves for the
backward pass grow with the items along a line. That takes a second and no memory of the device.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from benchmarks.common.allocated import Allocated
from benchmarks.common.fitting import Memory
from benchmarks.common.group import Group
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies.activations import wrap_blocks
from benchmarks.common.strategies.batches import (
    PIPELINES,
    in_flight,
    parts,
    pipeline_size,
    replica_batch,
    stages_per_rank,
    tensor_size,
)
from benchmarks.common.strategies.dtypes import FSDP_MODES, gathered_dtype, reduced_dtype
from benchmarks.common.strategies.sharded import shard_size
from benchmarks.common.workload import Workload


def estimate(
    args: argparse.Namespace,
    workload: Workload,
    sample: Sequence[Tensor],
    group: Group,
    passing: float = 0.0,
) -> Callable[[argparse.Namespace], Memory]:
    """The memory of the rank that needs most, by the options, of which the batch may change.

    ``passing``: bytes of a sample that are there for a moment, when the backward pass begins. A
    host is not asked: its memory is not known to be this program's.
    """
    if group.device.type == "cpu":
        return lambda _: Memory(0.0, 0.0, 0.0, 0.0)
    counts = _counts(args, workload, sample, group.device)
    one, two = counts.kept

    def memory(args: argparse.Namespace) -> Memory:
        ranks, stages = group.world_size, 1.0
        items = replica_batch(args, ranks) / parts(args, ranks)
        if args.mode in PIPELINES:  # each pass is through one of them
            stages = pipeline_size(args, ranks) * stages_per_rank(args) / in_flight(args, ranks)
        # Tensor parallelism shares what is inside of attention and perceptron: half of a block.
        shared = (1 + 1 / tensor_size(args, ranks)) / 2
        kept = (2 * one - two + (two - one) * items) / stages * shared
        held, gathered = _parameters(args, ranks, counts)
        own = held * PRECISIONS[args.precision].dtype.itemsize
        states = 1 if args.optimizer == "sgd" else 2
        return Memory(own + gathered, own, own * states, kept + passing * items)

    return memory


@dataclass(frozen=True)
class _Counts:
    """Of a model: its parameters, those of each block, and bytes kept of one and of two samples."""

    parameters: int
    blocks: Sequence[int]
    kept: tuple[int, int]


def _counts(
    args: argparse.Namespace, workload: Workload, sample: Sequence[Tensor], device: torch.device
) -> _Counts:
    precision, kept = PRECISIONS[args.precision], []
    for count in (1, 2):
        with torch.device("meta"):  # where no value is drawn
            model = workload.make_model().to(precision.dtype).train()
        parameters = sum(p.numel() for p in model.parameters())
        blocks = [sum(p.numel() for p in block.parameters()) for block in workload.blocks(model)]
        wrap_blocks(model, workload.blocks(model), args.activation, args.activation_every)
        with FakeTensorMode(), torch.device(device.type), _Fused():
            _take_memory(model)
            batch = []
            for x in sample:
                dtype = x.dtype if x.dtype == torch.long else precision.dtype
                batch.append(torch.zeros(count, *x.shape, dtype=dtype))
            with Allocated(device.type) as memory, precision.context(device):
                for tensor in (*model.parameters(), *model.buffers()):
                    memory.see(tensor.untyped_storage())
                before = memory.now
                for tensor in batch:
                    memory.see(tensor.untyped_storage())
                loss = workload.loss(model, tuple(batch))
            kept.append(memory.now - before)  # for the backward pass, and the batch
            del loss
    return _Counts(parameters, blocks, (kept[0], kept[1]))


def _parameters(args: argparse.Namespace, ranks: int, counts: _Counts) -> tuple[float, float]:
    """Parameters that a rank holds; bytes of those that FSDP gathers, and of their gradients."""
    tensor, total = tensor_size(args, ranks), float(counts.parameters)
    blocks = sum(counts.blocks)
    ends, largest = total - blocks, max(counts.blocks, default=0) / tensor
    types = gathered_dtype(args) or PRECISIONS[args.precision].dtype, reduced_dtype(args)
    if args.mode in PIPELINES:
        size = pipeline_size(args, ranks)
        stage = max(total / size, ends / 2)  # the ends are on one rank each
        if args.mode == "pipeline" or args.replicated_by == "replicate":
            return stage, 0.0
        return stage * size / ranks, stage * sum(dtype.itemsize for dtype in types)
    if args.mode not in FSDP_MODES:
        return (blocks / tensor + ends), 0.0
    shards = shard_size(args, ranks) if args.mode == "hsdp" else ranks // tensor
    # Gathered are the ends and two blocks; one gradient is made, and one is being reduced.
    gathered = (ends + 3 * largest) * types[0].itemsize + largest * types[1].itemsize
    return (blocks / tensor + ends) / shards, gathered


def _take_memory(model: nn.Module) -> None:
    """Give each parameter and buffer a tensor of the device of the context, without a value."""
    made: dict[Tensor, Tensor] = {}  # a parameter may be that of two modules
    for module in model.modules():
        for known in (module._parameters, module._buffers):
            for name, tensor in known.items():
                if tensor is not None and tensor not in made:
                    empty = torch.empty(tensor.shape, dtype=tensor.dtype)
                    made[tensor] = nn.Parameter(empty) if known is module._parameters else empty
                known[name] = None if tensor is None else made[tensor]


class _Fused(TorchFunctionMode):
    """SDPA by the kernel that a GPU would choose: of fake tensors PyTorch cannot ask it."""

    def __torch_function__(
        self, function: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function is not scaled_dot_product_attention:
            return function(*args, **(kwargs or {}))
        return _attention(*args, **(kwargs or {}))


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    **_: Any,
) -> Tensor:
    aten = torch.ops.aten
    if attn_mask is None:
        fused = aten._scaled_dot_product_flash_attention
        found: Tensor = fused(query, key, value, dropout_p, is_causal, scale=scale)[0]
    else:
        mask = attn_mask.expand(*query.shape[:3], key.shape[2])
        fused = aten._scaled_dot_product_efficient_attention
        found = fused(query, key, value, mask, True, dropout_p, is_causal, scale=scale)[0]
    return found
