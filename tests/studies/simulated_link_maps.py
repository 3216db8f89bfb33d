"""Counts how often what is slow in a map of links is found, and named as what it is.

    python -m tests.studies.simulated_link_maps [--maps 100] [--nodes 4 8 64] [--lower 0.25]

Each map has all links between the nodes, both ways, with Gaussian noise of 3 % (``--noise``), of
which each is independent; ``--spread`` lets healthy nodes differ, too. One thing is slow, at a
random place: a link both ways or one way, a node or only what it sends, the links between a group
and the others, those within a group, or all links of three or more nodes. Groups have two nodes to
half of them, beside each other or not. *right*: exactly this was found, with its
nodes; *silent*: nothing; all else is *wrong*.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from milabench_ddp.report.link_map import slow_parts

Part = tuple[str, tuple[int, ...]]
FEWEST = {
    "link": 3,
    "link, one way": 3,
    "node": 4,
    "node, as sender": 4,
    "nodes": 12,
}  # 6 for groups


def planted(
    kind: str, nodes: int, rng: np.random.Generator, args: Mapping[str, float]
) -> tuple[np.ndarray, set[Part]]:
    """A map of speeds, and what is slow in it."""
    own = rng.normal(0, args["spread"], nodes)
    speeds = 40 * np.exp(rng.normal(0, args["noise"], (nodes, nodes)) + own[:, None] + own[None])
    np.fill_diagonal(speeds, np.nan)
    slow = np.zeros((nodes, nodes), bool)
    first, second = rng.choice(nodes, 2, replace=False)
    size = int(
        rng.integers(3 if "within" in kind or "nodes" in kind else 2, max(nodes // 2, 3) + 1)
    )
    if "nodes" in kind:  # of more, most links could be slow
        size = max(3, min(size, nodes // 4))
    start = int(rng.integers(0, nodes - size + 1))
    group = np.arange(start, start + size)
    if "scattered" in kind:
        group = np.sort(rng.choice(nodes, size, replace=False))
    inside = np.isin(np.arange(nodes), group)
    match kind.split(",")[0]:
        case "none":
            return speeds, set()
        case "link":
            slow[first, second] = True
            slow[second, first] = "one way" not in kind
            truth: Part = "link", tuple(sorted((int(first), int(second))))
        case "node":
            slow[first] = True
            slow[:, first] |= "as sender" not in kind
            truth = "end", (int(first),)
        case "across":
            slow = inside[:, None] ^ inside[None]
            if 2 * size == nodes and not inside[0]:  # the side of the first node is named
                group = np.flatnonzero(~inside)
            truth = "across", tuple(group.tolist())
        case "within":
            slow = inside[:, None] & inside[None]
            truth = "within", tuple(group.tolist())
        case "nodes":
            speeds[inside[:, None] | inside[None]] *= 1 - args["lower"]
            return speeds, {("end", (int(end),)) for end in group}
    speeds[slow] *= 1 - args["lower"]
    return speeds, {truth}


KINDS = (
    "none", "link", "link, one way", "node", "node, as sender", "across", "across, scattered",
    "within", "within, scattered", "nodes",
)  # fmt: skip


def counted(kind: str, nodes: int, args: Mapping[str, Any]) -> Counter[str]:
    """How many maps are right, silent and wrong."""
    rng = np.random.default_rng([args["seed"], nodes, KINDS.index(kind)])
    said: Counter[str] = Counter()
    for _ in range(args["maps"]):
        speeds, truth = planted(kind, nodes, rng, args)
        found = {(part.shape, tuple(sorted(part.ends))) for part in slow_parts(speeds)}
        said["right" if found == truth else "wrong" if found else "silent"] += 1
    return said


def main() -> int:
    """Print the table; returns 1 if less than 99 of 100 are right with 64 nodes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--maps", type=int, default=100, help="of each kind")
    add("--nodes", type=int, nargs="+", default=[64])
    add("--lower", type=float, default=0.25, help="by how much slow links are slower")
    add("--noise", type=float, default=0.03, help="of each link, as a fraction")
    add("--spread", type=float, default=0.0, help="of healthy nodes, as a fraction")
    add("--seed", type=int, default=0)
    args = vars(parser.parse_args())
    is_good = True
    print("nodes | slow              | right | silent | wrong | ms a map", flush=True)
    for nodes in args["nodes"]:
        for kind in KINDS:
            if kind != "none" and nodes < FEWEST.get(kind, 6):
                continue
            begin = time.process_time()
            said = counted(kind, nodes, args)
            ms = (time.process_time() - begin) * 1e3 / args["maps"]
            counts = f"{said['right']:5} | {said['silent']:6} | {said['wrong']:5}"
            print(f"{nodes:5} | {kind:17} | {counts} | {ms:8.0f}", flush=True)
            is_good &= nodes < 64 or said["right"] >= 0.99 * args["maps"]
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
