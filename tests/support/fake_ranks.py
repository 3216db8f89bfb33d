"""One rank of many, in a process group whose collectives return at once and send nothing."""

from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from benchmarks.common.group import Group


@contextmanager
def fake_ranks(count, rank=0):
    """The group of ``rank`` among ``count`` on the CPU, while the block lasts."""
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=count)
    try:
        yield Group(torch.device("cpu"), rank, count, rank)
    finally:
        dist.destroy_process_group()
