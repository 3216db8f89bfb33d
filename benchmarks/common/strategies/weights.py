"""Parameters that were built without memory get it on the rank that keeps them, and their values.

A model too large for one device, or for the host, is built on the device ``meta``, where tensors
have shapes alone; then one part of it after the other is filled and at once sharded, so that a rank
never holds more than its shards and one part. The values of a parameter depend on the seed and on
its name: they are the same whichever rank draws them, and in every mode.
"""

import hashlib

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from benchmarks.common.names import plain
from benchmarks.common.workload import Fill


@torch.no_grad()
def fill(root: nn.Module, part: nn.Module, how: Fill, device: torch.device, seed: int) -> None:
    """Give every parameter of ``part`` that is on ``meta`` memory on ``device``, and its values.

    ``part`` belongs to ``root``, whose names it is known by. Of a sharded parameter the whole is
    drawn, the shard copied out of it, and the whole dropped.
    """
    names = {id(parameter): plain(name) for name, parameter in root.named_parameters()}
    for module in part.modules():
        for key, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_meta:
                name = names[id(parameter)]
                whole = torch.empty(parameter.shape, dtype=parameter.dtype, device=device)
                how(name, whole, _chance(seed, name, device))
                setattr(module, key, nn.Parameter(_as(parameter, whole)))


def _as(parameter: Tensor, whole: Tensor) -> Tensor:
    """``whole`` in the placement of ``parameter``, in memory of its own; nothing is sent."""
    if not isinstance(parameter, DTensor):
        return whole
    shard = distribute_tensor(
        whole, parameter.device_mesh, parameter.placements, src_data_rank=None
    )
    return shard.clone()  # a shard by rows would be a view, and keep the whole


def _chance(seed: int, name: str, device: torch.device) -> torch.Generator:
    digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=7).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest))
