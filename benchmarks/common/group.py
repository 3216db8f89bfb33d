"""The processes that train together: those that torchrun started, or this one alone."""

import gc
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from benchmarks.common.device import bind, pick
from benchmarks.common.failure import UnsupportedError

# Seconds that a collective may take until the measured steps begin, and from then on. Without the
# variables they are torch's own: 10 minutes on GPUs, 30 on CPUs.
SETUP_TIMEOUT, STEP_TIMEOUT = "MILABENCH_SETUP_TIMEOUT", "MILABENCH_STEP_TIMEOUT"
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
    def join(cls, kind: str | None, done: Callable[[str], None] = str) -> "Group":
        """Join the process group of torchrun; without torchrun, a group of this process only.

        One process takes the same path through the same library as many, so that the difference
        between one and two processes is communication, not a different program. ``done`` is called
        after each part: ``device``, ``rendezvous``, in which each rank connects to torchrun's
        store, and ``process_group``, in which all ranks meet.
        """
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        device = pick(kind, local_rank)
        bind(device)
        backend = BACKENDS[device.type]
        bound = None if device.type == "cpu" else device
        timeout = _timeout(SETUP_TIMEOUT)
        done("device")
        store, rank, ranks = _rendezvous(timeout)
        done("rendezvous")
        dist.init_process_group(
            backend, timeout=timeout, store=store, rank=rank, world_size=ranks, device_id=bound
        )
        done("process_group")
        return cls(device, dist.get_rank(), dist.get_world_size(), local_rank)

    def limit(self, variable: str) -> None:
        """Let each collective from now on fail after the seconds of a variable, if that is set."""
        timeout = _timeout(variable)
        if timeout is None or not dist.is_initialized():
            return
        # In torch 2.11 the function is private; the groups of meshes do not inherit the time-out.
        set_timeout = getattr(dist, "set_timeout", None) or distributed_c10d._set_pg_timeout
        for group in list(distributed_c10d._world.pg_map):
            set_timeout(timeout, group)

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
            return float(value)
        # Of one type on all ranks: a rank may come with an int where another has a float.
        found = torch.tensor(value, dtype=torch.float64, device=self.device)
        dist.all_reduce(found, dist.ReduceOp.MAX)
        return float(found)

    def leave(self) -> None:
        """End the process group, once all ranks are done."""
        if dist.is_initialized():
            gc.collect()  # frees wrapped models (cycles): their groups' threads outlive Python
            dist.destroy_process_group()


def _rendezvous(timeout: timedelta | None) -> tuple[dist.Store, int, int]:
    """The store of torchrun, this rank and the number of ranks; without torchrun, a rank alone."""
    if "WORLD_SIZE" not in os.environ:
        return dist.HashStore(), 0, 1
    limit = {} if timeout is None else {"timeout": timeout}
    store, rank, ranks = next(dist.rendezvous("env://", **limit))
    return dist.PrefixStore("default_pg", store), rank, ranks  # as torch's own


def _timeout(variable: str) -> timedelta | None:
    seconds = os.environ.get(variable)
    return timedelta(seconds=float(seconds)) if seconds else None
