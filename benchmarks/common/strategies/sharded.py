"""``fsdp``, ``hsdp``: parameters, gradients and optimizer state sharded over the ranks.

``tp``, ``tp-fsdp``: matrices sharded over ranks that compute one batch together.
"""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)
from torch.distributed.tensor.parallel import loss_parallel, parallelize_module

from benchmarks.common.marks import Waits
from benchmarks.common.strategies.batches import tensor_size
from benchmarks.common.strategies.collective_marks import mark_collectives
from benchmarks.common.strategies.dtypes import gathered_dtype, reduced_dtype
from benchmarks.common.strategies.setup import Setup
from benchmarks.common.strategies.shard_marks import ShardMarks
from benchmarks.common.strategies.strategy import Replicas, WrappedModel
from benchmarks.common.workload import Batch

PREFETCHES = ("noop", "prehook", "posthook")
INSIDE_GRAPHS = "compiled blocks wait for the collectives of tensor parallelism inside their graphs"


def fsdp(setup: Setup) -> WrappedModel:
    ranks = setup.group.world_size
    mesh = init_device_mesh(setup.device.type, (ranks,), mesh_dim_names=("shard",))
    return on_mesh(setup, setup.model(), mesh)


def hsdp(setup: Setup) -> WrappedModel:
    """Sharded over ``--shard-size`` ranks, replicated over the rest."""
    ranks, shards = setup.group.world_size, shard_size(setup.args, setup.group.world_size)
    shape = (ranks // shards, shards)
    mesh = init_device_mesh(setup.device.type, shape, mesh_dim_names=("replicate", "shard"))
    return on_mesh(setup, setup.model(), mesh)


def shard_size(args: argparse.Namespace, ranks: int) -> int:
    """Ranks that share one copy of the model; by default half of them."""
    return int(args.shard_size or max(ranks // 2, 1))


def tp(setup: Setup) -> WrappedModel:
    """Tensor parallel over all ranks, which all see the same data."""
    ranks = setup.group.world_size
    mesh = init_device_mesh(setup.device.type, (ranks,), mesh_dim_names=("tensor",))
    model = setup.placed(_tensor_parallel(setup, mesh))
    setup.save_memory(model)
    setup.compiler.apply(setup.blocks(model))
    return _Tensor(model, setup, Replicas())


def tp_fsdp(setup: Setup) -> WrappedModel:
    """Tensor parallel over neighbours; FSDP shards each of their parts over the other ranks."""
    tensor = tensor_size(setup.args, setup.group.world_size)
    shape = (setup.group.world_size // tensor, tensor)
    mesh = init_device_mesh(setup.device.type, shape, mesh_dim_names=("shard", "tensor"))
    model = _tensor_parallel(setup, mesh["tensor"])
    replicas = Replicas(shape[0], mesh["shard"].get_local_rank())
    return on_mesh(setup, model, mesh["shard"], replicas, _TensorFSDP)


def _tensor_parallel(setup: Setup, mesh: DeviceMesh) -> nn.Module:
    model = setup.model()
    if setup.workload.fill is None:
        model = model.to(setup.device)  # sharding scatters it over the devices' network
    assert setup.workload.tp_plan is not None
    return parallelize_module(model, mesh, dict(setup.workload.tp_plan(model)))


def on_mesh(
    setup: Setup,
    model: nn.Module,
    mesh: DeviceMesh,
    replicas: Replicas | None = None,
    kind: type["_FSDP"] | None = None,
) -> WrappedModel:
    """``model`` sharded block by block; only one block at a time is on the device in full."""
    setup.save_memory(model)
    blocks = setup.blocks(model)
    setup.compiler.apply(blocks)
    shard(model, blocks, mesh, setup, reshard=setup.args.reshard_after_forward is not False)
    prefetch(blocks, setup.args.prefetch)
    all_ranks = Replicas(setup.group.world_size, setup.group.rank)
    return (kind or _FSDP)(model, setup, replicas or all_ranks)


def shard(
    model: nn.Module, blocks: Sequence[nn.Module], mesh: DeviceMesh, setup: Setup, *, reshard: bool
) -> None:
    """``fully_shard`` each block, the ends, and then the rest of the model.

    Each is filled, or moved to the device, just before: never more than one is there in full. Only
    blocks are resharded by default. The backward pass needs the head at once, and so it does all
    that does not follow other blocks: PyTorch's default for the root.
    """
    args, ends = setup.args, setup.workload.ends(model)
    offload = OffloadPolicy()
    if args.cpu_offload:
        offload = CPUOffloadPolicy(pin_memory=setup.device.type != "cpu")
    for module in (*blocks, *ends, model):
        again = reshard if module in blocks else args.reshard_after_forward is True
        place = {"mesh": mesh, "reshard_after_forward": again, "offload_policy": offload}
        setup.fill(model, module)
        for norm in _kept_in_fp32(module, args):
            fully_shard(norm, mp_policy=MixedPrecisionPolicy(cast_forward_inputs=False), **place)
        fully_shard(module, mp_policy=policy(args), **place)


def _kept_in_fp32(module: nn.Module, args: argparse.Namespace) -> list[nn.Module]:
    """The batch norms that are not sharded yet, where FSDP lowers parameters.

    FSDP lowers their weights, but not the statistics, which are buffers, and PyTorch refuses such a
    mixture. So they are sharded by themselves and keep their type, as under autocast.
    """
    if gathered_dtype(args) is None:
        return []
    norms = [m for m in module.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    return [norm for norm in norms if not isinstance(norm, FSDPModule)]


def policy(args: argparse.Namespace) -> MixedPrecisionPolicy:
    return MixedPrecisionPolicy(param_dtype=gathered_dtype(args), reduce_dtype=reduced_dtype(args))


def prefetch(blocks: Sequence[nn.Module], when: str) -> None:
    """Gather the parameters of the next block early.

    ``noop``: as FSDP2 does by itself, in the backward pass and not in the forward pass;
    ``prehook``: before a block computes, in both; ``posthook``: after its call, in forward.
    """
    for block, following in pairwise(blocks):
        assert isinstance(block, FSDPModule)
        assert isinstance(following, FSDPModule)
        if when == "prehook":
            block.set_modules_to_forward_prefetch([following])
            following.set_modules_to_backward_prefetch([block])
        elif when == "posthook":
            block.register_forward_hook(_Unshard(following))


class _Unshard:
    """A hook that begins to gather the parameters of a block."""

    def __init__(self, block: FSDPModule) -> None:
        self._block = block

    def __call__(self, *_: object) -> None:
        self._block.unshard(async_op=True)


class _FSDP(WrappedModel):
    _marks: ShardMarks | None = None

    def mark_waits(self, waits: Waits) -> bool:
        self._marks = ShardMarks(self.model, waits)
        self._optimizer.waits = waits
        return True

    def backward(self, loss: Tensor) -> None:
        super().backward(loss)
        if self._marks is not None:
            self._marks.passed()

    @contextmanager
    def unsynced(self) -> Iterator[None]:
        assert isinstance(self.model, FSDPModule)
        self.model.set_requires_gradient_sync(False)
        try:
            yield
        finally:
            self.model.set_requires_gradient_sync(True)


class _Tensor(WrappedModel):
    # The scores stay shared by words: of each token the loss sends three numbers.
    def forward(self, batch: Batch) -> Tensor:
        with loss_parallel():
            return super().forward(batch)

    def backward(self, loss: Tensor) -> None:
        with loss_parallel():
            super().backward(loss)

    def mark_waits(self, waits: Waits) -> bool:
        if self._compiler.compiles:
            self.waits_unknown = INSIDE_GRAPHS
            return False
        mark_collectives(waits)
        return True


class _TensorFSDP(_Tensor, _FSDP):
    def mark_waits(self, waits: Waits) -> bool:
        return super().mark_waits(waits) and _FSDP.mark_waits(self, waits)
