"""The peak memory of a rank of many, counted on tensors without memory."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import torch
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._sharding_prop import ShardingPropagator
from torch.utils._python_dispatch import _disable_current_modes

from benchmarks.common import strategies
from benchmarks.common.allocated import Allocated
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import pipeline, sharded
from benchmarks.common.strategies.batches import chunks, replica_batch
from benchmarks.common.strategies.dtypes import gathered_dtype
from benchmarks.common.strategies.parameters import local
from tests.support.fake_ranks import fake_ranks

# DTensor runs an operation on the full shapes to know the shape of its result: no memory is taken.
_SHAPES = "_propagate_tensor_meta_non_cached"


@contextmanager
def with_resizes(mode):
    """Count also what FSDP does to storages by itself: it frees them and takes them back."""
    right = torch.UntypedStorage.resize_

    def resize(storage, size):
        out = right(storage, size)
        if mode.knows(storage) or size:
            mode.see(storage)
        return out

    with patch.object(torch.UntypedStorage, "resize_", resize), mode:
        yield mode


def peak_of_a_step(args, workload, tokens, ranks, rank=0, steps=2):
    """The most bytes of ``rank`` at any time of the last of some steps.

    A replica's batch has ``tokens`` in each sequence. The model is made outside of the fake mode,
    because it has no memory then, and the mesh, because it reads its own numbers.
    """
    make = outside(workload.make_model)
    workload = replace(workload, make_model=make)
    words = torch.zeros(replica_batch(args, ranks), tokens, dtype=torch.long)
    with (
        fake_ranks(ranks, rank) as group,
        patch.object(sharded, "init_device_mesh", outside(sharded.init_device_mesh)),
        patch.object(pipeline, "init_device_mesh", outside(pipeline.init_device_mesh)),
        patch.object(DeviceMesh, "__init__", outside(DeviceMesh.__init__)),
        patch.object(DeviceMesh, "__getitem__", outside(DeviceMesh.__getitem__)),
        patch.object(ShardingPropagator, _SHAPES, uncounted(getattr(ShardingPropagator, _SHAPES))),
        patch.object(pipeline, "_Stage", partial(described_stage, args, workload, words)),
        patch.object(torch.nn.Module, "to", to_type),
        patch.object(torch, "rms_norm", rms_norm),
        FakeTensorMode(allow_non_fake_inputs=True),
        with_resizes(Allocated()) as memory,
    ):
        strategy = strategies.build(args, workload, group)
        batch = words.clone(), words.clone()
        for _ in range(steps):
            memory.peak = memory.now
            strategy.forward_backward(batch)
            strategy.step()
        return memory.peak


class FusedNorm(torch.autograd.Function):
    """RMSNorm as it keeps memory on a GPU; on a CPU its operations keep all their results."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight, x.new_empty(*x.shape[:-1], 1, dtype=torch.float32))
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx, gradient):
        x, weight, _ = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(weight)


def rms_norm(x, shape, weight, eps):
    """``torch.rms_norm`` as ``FusedNorm``."""
    if isinstance(x, DTensor):
        part = rms_norm(x.to_local(), shape, local(weight), eps)
        return DTensor.from_local(part, x.device_mesh, x.placements, run_check=False)
    return FusedNorm.apply(x, local(weight))


def to_type(module, where, right=torch.nn.Module.to):
    """``Module.to``; a fake module is on its device already, and cannot be moved there again."""
    return module if isinstance(where, torch.device) else right(module, where)


def described_stage(
    args, workload, words, module, index, count, device, group, right=pipeline._Stage
):
    """A stage that is told the shapes that it takes and gives: no message is received here."""
    x = words[: len(words) // chunks(args, group.size())]
    autocast = PRECISIONS[args.precision].autocast
    with unset_fake_temporarily(), torch.device("meta"):
        whole = workload.make_model()
    dtype = gathered_dtype(args) or PRECISIONS[args.precision].dtype
    width = whole.head.norm.weight.numel()
    hidden = torch.empty(*x.shape, width, dtype=dtype, requires_grad=True)
    words_known = whole.head.score.weight.shape[0]
    scores = torch.empty(*x.shape, words_known, dtype=autocast or dtype)
    given, made = x if index == 0 else hidden, scores if index == count - 1 else hidden
    return right(module, index, count, device, given, made, group=group)


def outside(function):
    """``function`` on tensors that have memory, or are on the device ``meta``."""

    def called(*args, **kwargs):
        with unset_fake_temporarily():
            return function(*args, **kwargs)

    return called


def uncounted(function):
    """``function``, whose operations no mode sees, ``Allocated`` neither."""

    def called(*args, **kwargs):
        with _disable_current_modes():
            return function(*args, **kwargs)

    return called
