"""Parameters: their names, their values, and how many of them a rank has.

A model too large for one device, or for the host, is built on the device ``meta``, where tensors
have only shapes. Then one module after the other is filled and at once sharded, so that a rank
never has more than its shards and one module. The values of a parameter depend on the seed and on
its name: they are the same on every rank and in every mode.
"""

import hashlib

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, distribute_tensor

from benchmarks.common.workload import Fill

_WRAPPERS = ("module", "_orig_mod", "_checkpoint_wrapped_module")


def plain_name(name: str) -> str:
    """The name of a parameter without the wrappers around its modules, and without its stage."""
    parts = [part for part in name.split(".") if part not in _WRAPPERS and part[:6] != "_stage"]
    return ".".join(parts)


@torch.no_grad()
def fill(root: nn.Module, module: nn.Module, how: Fill, device: torch.device, seed: int) -> None:
    """Give the parameters of ``module`` that are on ``meta`` memory on ``device``, and values.

    ``module`` is a part of ``root``, and its parameters have their names in ``root``. For a sharded
    parameter the full tensor is drawn, the shard is copied out of it, and the full tensor is
    dropped.
    """
    names = {id(parameter): plain_name(name) for name, parameter in root.named_parameters()}
    for owner in module.modules():
        for key, parameter in list(owner.named_parameters(recurse=False)):
            if parameter.is_meta:
                name = names[id(parameter)]
                full = torch.empty(parameter.shape, dtype=parameter.dtype, device=device)
                how(name, full, _generator(seed, name, device))
                setattr(owner, key, nn.Parameter(_placed_as(parameter, full)))


def local_numel(model: nn.Module) -> int:
    """Number of parameters in this rank's memory; a sharded one counts with its shard alone."""
    return sum(local(p).numel() for p in model.parameters())


def local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _placed_as(parameter: Tensor, full: Tensor) -> Tensor:
    """``full`` in the placement of ``parameter``, in memory of its own; nothing is sent."""
    if not isinstance(parameter, DTensor):
        return full
    mesh, placements = parameter.device_mesh, parameter.placements
    shard = distribute_tensor(full, mesh, placements, src_data_rank=None)
    return shard.clone()  # a shard by rows would be a view that keeps the full tensor alive


def _generator(seed: int, name: str, device: torch.device) -> torch.Generator:
    digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=7).digest()
    return torch.Generator(device).manual_seed(int.from_bytes(digest))
