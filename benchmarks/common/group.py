"""The processes that train together: those that torchrun started, or this one alone."""

import gc
import os
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist

from benchmarks.common.device import bind, pick
from benchmarks.common.failure import UnsupportedError

BACKENDS = {"cuda": "nccl", "xpu": "xccl", "cpu": "gloo"}

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """This process's rank among those that train together, and its device."""

    device: torch.device
    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def alone(cls, kind: str | None) -> "Group":
        """A process that measures by itself, without a process group.

        Raises ``UnsupportedError`` if torchrun started several: each would report as rank 0.
        """
        ranks = int(os.environ.get("WORLD_SIZE", "1"))
        if ranks > 1:
            raise UnsupportedError(
                f"this program measures one device, but was started on {ranks} ranks"
            )
        device = pick(kind)
        bind(device)
        return cls(device)

    @classmethod
    def join(cls, kind: str | None) -> "Group":
        """Join the process group of torchrun; without torchrun, a group of this process only.

        One process takes the same path through the same library as many, so that the difference
        between one and two processes is communication, not a different program.
        """
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        device = pick(kind, local_rank)
        bind(device)
        backend = BACKENDS[device.type]
        bound = None if device.type == "cpu" else device
        if "WORLD_SIZE" in os.environ:
            dist.init_process_group(backend, device_id=bound)
        else:
            dist.init_process_group(
                backend, store=dist.HashStore(), rank=0, world_size=1, device_id=bound
            )
        return cls(device, dist.get_rank(), dist.get_world_size(), local_rank)

    @property
    def device_ids(self) -> list[torch.device] | None:
        """The ``device_ids`` of DDP: none for a CPU."""
        return None if self.device.type == "cpu" else [self.device]

    def gather(self, value: T) -> list[T]:
        """On rank 0 every rank's value, in the order of the ranks; on the others an empty list."""
        if not dist.is_initialized():
            return [value]
        values = [value] * self.world_size if self.rank == 0 else []  # room for all ranks' values
        dist.gather_object(value, values or None)
        return values

    def largest(self, value: float) -> float:
        """The largest of all ranks' values, on every rank."""
        if not dist.is_initialized():
            return value
        found = torch.tensor(value, device=self.device)
        dist.all_reduce(found, dist.ReduceOp.MAX)
        return float(found)

    def leave(self) -> None:
        """End the process group, once all ranks are done."""
        if dist.is_initialized():
            gc.collect()  # frees wrapped models (cycles): their groups' threads outlive Python
            dist.destroy_process_group()
