"""Parts of the ranks that communicate among themselves, all parts at the same time."""

import os
import socket
from collections import defaultdict
from dataclasses import dataclass

import torch.distributed as dist

from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import SETUP_TIMEOUT, Group

AMONG = ("all", "node", "across")


@dataclass(frozen=True)
class Part:
    """The ranks that communicate with this one."""

    ranks: int
    rank: int  # of this process among them
    group: dist.ProcessGroup | None  # None: all ranks


def part_of(group: Group, among: str) -> Part:
    """The part of this rank: all ranks, those of its node, or one of each node.

    All ranks come here together. ``UnsupportedError`` where a part has a single rank, or parts
    differ in size: their figures would be of different things.
    """
    if among == "all":
        return Part(group.world_size, group.rank, None)
    parts = partition(nodes_of(group), among)
    sizes = sorted({len(part) for part in parts})
    if len(sizes) > 1:
        raise UnsupportedError(
            f"--among {among} needs parts of equal size: they have {sizes[0]} to {sizes[-1]} ranks"
        )
    if sizes[0] < 2:
        raise UnsupportedError(f"--among {among} needs parts of two ranks or more: they have one")
    mine = Part(0, 0, None)
    for ranks in parts:  # each rank takes part in making each group
        made = dist.new_group(ranks)
        if group.rank in ranks:
            mine = Part(len(ranks), ranks.index(group.rank), made)
    group.limit(SETUP_TIMEOUT)
    return mine


def nodes_of(group: Group) -> list[str]:
    """The node of each rank, on all ranks, which come here together."""
    nodes = [""] * group.world_size
    dist.all_gather_object(nodes, os.environ.get("MILABENCH_NODE") or socket.gethostname())
    return nodes


def partition(nodes: list[str], among: str) -> list[list[int]]:
    """The ranks of each part, from the node of each rank."""
    by_node: dict[str, list[int]] = defaultdict(list)
    for rank, node in enumerate(nodes):
        by_node[node].append(rank)
    if among == "node":
        return list(by_node.values())
    by_place: dict[int, list[int]] = defaultdict(list)
    for ranks in by_node.values():
        for place, rank in enumerate(ranks):
            by_place[place].append(rank)
    return list(by_place.values())
