"""The peak memory of a rank of many, counted on tensors without memory."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from unittest.mock import patch
from weakref import finalize

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmarks.common import strategies
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.strategies import pipeline, sharded
from benchmarks.common.strategies.batches import chunks, replica_batch
from tests.support.fake_ranks import fake_ranks


class Allocated(TorchDispatchMode):
    """Counts the bytes of all storages that operations make, while they exist, and their peak."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self._sizes = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if DTensor in types:
            return NotImplemented
        out = function(*args, **(kwargs or {}))
        for value in tree_leaves(out):
            if isinstance(value, Tensor) and value.device.type == "cpu":
                self._see(value.untyped_storage())
        return out

    def _see(self, storage):
        key = storage._cdata
        if key not in self._sizes:
            finalize(storage, self._resized, key, 0).atexit = False
        self._resized(key, storage.nbytes())

    def _resized(self, key, size):
        self.now += size - self._sizes.pop(key, 0)
        if size:
            self._sizes[key] = size
        self.peak = max(self.peak, self.now)

    @contextmanager
    def with_resizes(self):
        """Count also what FSDP does to storages by itself: it frees them and takes them back."""
        right, mode = torch.UntypedStorage.resize_, self

        def resize(storage, size):
            out = right(storage, size)
            if storage._cdata in mode._sizes or size:
                mode._see(storage)
            return out

        with patch.object(torch.UntypedStorage, "resize_", resize), self:
            yield self


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
        patch.object(DeviceMesh, "__getitem__", outside(DeviceMesh.__getitem__)),
        patch.object(pipeline, "_Stage", partial(described_stage, args, workload, words)),
        patch.object(torch.nn.Module, "to", to_type),
        FakeTensorMode(allow_non_fake_inputs=True),
        Allocated().with_resizes() as memory,
    ):
        strategy = strategies.build(args, workload, group)
        batch = words.clone(), words.clone()
        for _ in range(steps):
            memory.peak = memory.now
            strategy.forward_backward(batch)
            strategy.step()
        return memory.peak


def to_type(module, where, right=torch.nn.Module.to):
    """``Module.to``; a fake module is on its device already, and cannot be moved there again."""
    return module if isinstance(where, torch.device) else right(module, where)


def described_stage(
    args, workload, words, module, index, count, device, group, right=pipeline._Stage
):
    """A stage that is told the shapes that it takes and gives: no message is received here."""
    x = words[: len(words) // chunks(args, group.size())]
    with unset_fake_temporarily(), torch.device("meta"):
        whole = workload.make_model()
    dtype = PRECISIONS[args.precision].dtype
    width = whole.head.norm.weight.numel()
    hidden = torch.empty(*x.shape, width, dtype=dtype, requires_grad=True)
    scores = torch.empty(*x.shape, whole.head.score.weight.shape[0], dtype=dtype)
    given, made = x if index == 0 else hidden, scores if index == count - 1 else hidden
    return right(module, index, count, device, given, made, group=group)


def outside(function):
    """``function`` on tensors that have memory, or are on the device ``meta``."""

    def called(*args, **kwargs):
        with unset_fake_temporarily():
            return function(*args, **kwargs)

    return called
