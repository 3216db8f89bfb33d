"""``tp`` and ``tp-fsdp``: matrices sharded over the ranks that compute one batch together."""

import argparse

from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor.parallel import parallelize_module

from benchmarks.common.strategies.setup import Setup
from benchmarks.common.strategies.sharded import on_mesh
from benchmarks.common.strategies.strategy import Replicas, Whole


def tensor_size(args: argparse.Namespace, ranks: int) -> int:
    """Ranks that share the matrices of one model: all under ``tp``, by default 2 with FSDP."""
    if args.mode == "tp":
        return ranks
    return int(args.tp_size or min(2, ranks)) if args.mode == "tp-fsdp" else 1


def tp(setup: Setup) -> Whole:
    """Tensor parallel over all ranks: they see the same data."""
    mesh = init_device_mesh(
        setup.device.type, (setup.group.world_size,), mesh_dim_names=("tensor",)
    )
    model = setup.placed(_parallel(setup, mesh))
    setup.save_memory(model)
    setup.compiler.apply(setup.blocks(model))
    return Whole(model, setup, Replicas())


def tp_fsdp(setup: Setup) -> Whole:
    """Tensor parallel over neighbours, and what each of them holds sharded over the rest."""
    tensor = tensor_size(setup.args, setup.group.world_size)
    shape = (setup.group.world_size // tensor, tensor)
    mesh = init_device_mesh(setup.device.type, shape, mesh_dim_names=("shard", "tensor"))
    model = _parallel(setup, mesh["tensor"])
    replicas = Replicas(shape[0], mesh["shard"].get_local_rank())
    return on_mesh(setup, model, mesh["shard"], replicas)


def _parallel(setup: Setup, mesh: DeviceMesh) -> nn.Module:
    model = setup.model()
    if setup.workload.fill is None:
        model = model.to(setup.device)  # sharding it scatters, over the devices' network
    assert setup.workload.tp_plan is not None
    return parallelize_module(model, mesh, dict(setup.workload.tp_plan(model)))
