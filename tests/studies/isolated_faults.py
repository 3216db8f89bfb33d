"""Plants faults among made-up nodes, and counts what an isolation finds, in how many rounds.

    python -m tests.studies.isolated_faults [--trials 500] [--flaky 0.01]

Pairs are of nodes that are good alone, no node is in two of them; a number is from 3/4 of the nodes
on. Columns, of all trials of a row:

right      nothing but the faults was found, and all of them
wrong      a good node, or a good pair, was condemned
rounds     the mean, the 99 % quantile, and the most; disjoint probes run in the same round
bound      2 d log2 N + 4 rounds, for d faults
within     the share of trials with at most so many
probes     the mean number of launches
"""

import argparse
import random
from collections.abc import Iterator
from math import log2

from tests.support.planted_faults import Isolated, PlantedFaults, isolated, planted

SIZES = (4, 5, 8, 16, 64, 256, 1024)
KINDS = {
    "none": (0, 0, False),
    "1 node": (1, 0, False),
    "5 nodes": (5, 0, False),
    "1 pair": (0, 1, False),
    "2 pairs": (0, 2, False),
    "node, pair": (1, 1, False),
    "number": (0, 0, True),
}
LARGEST_SHARE = 2  # of the nodes, 1 / 2 are not in a fault


def study(trials: int, flaky: float, seed: int = 1) -> Iterator[str]:
    widths = {
        "nodes": 6,
        "right": 8,
        "wrong": 7,
        "rounds": 16,
        "bound": 7,
        "within": 8,
        "probes": 8,
    }
    yield f"{'faults':11}" + "".join(f"{name:>{width}}" for name, width in widths.items())
    for kind, (bad, pairs, scale) in KINDS.items():
        for size in SIZES:
            if LARGEST_SHARE * (bad + 2 * pairs) > size:
                continue
            chance = random.Random(seed)
            found: list[tuple[PlantedFaults, Isolated]] = []
            for _ in range(trials):
                faults = planted(chance, size, bad, pairs, scale=scale)
                found.append((faults, isolated(faults, chance, flaky)))
            right = sum(each.is_right(faults) for faults, each in found)
            wrong = sum(each.is_wrong(faults) for faults, each in found)
            rounds = sorted(each.rounds for _, each in found)
            bound = 2 * (bad + pairs + scale) * log2(size) + 4
            within = sum(each <= bound for each in rounds) / trials
            spread = f"{sum(rounds) / trials:.1f} {rounds[int(0.99 * trials)]} {rounds[-1]}"
            probes = sum(each.probes for _, each in found) / trials
            yield (
                f"{kind:11}{size:6}{right:8}{wrong:7}{spread:>16}{bound:7.1f}{within:8.0%}"
                f"{probes:8.0f}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--flaky", type=float, default=0.01)
    given = parser.parse_args()
    for line in study(given.trials, given.flaky):
        print(line, flush=True)
