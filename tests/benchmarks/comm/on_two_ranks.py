"""Every operation in every type on two ranks; then each with a planted error, which must show."""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.comm.collectives import OPERATIONS, RankTensors, checked_exchange
from benchmarks.common.group import Group

group = Group.join("cpu")
for (name, operation), dtype in product(
    OPERATIONS.items(), (torch.float32, torch.float16, torch.bfloat16)
):
    for elements, in_place in product((2, 10, 3000), operation.in_place):
        tensors = RankTensors(group.rank, group.world_size, group.device, dtype, in_place=in_place)
        checked_exchange(name, tensors, elements)  # raises where the result is wrong
        exchange = operation.make(tensors, elements)
        exchange.call()
        exchange.result[-1] += 0.5  # what a rank that adds wrongly would give
        assert not exchange.is_correct(group.world_size), (name, dtype, elements, in_place)
        stuck = replace(exchange, result=torch.zeros_like(exchange.result))
        assert not stuck.is_correct(group.world_size) or elements == 2, (name, dtype, elements)
dist.barrier()
print(f"rank {group.rank}: all right", flush=True)
group.leave()
