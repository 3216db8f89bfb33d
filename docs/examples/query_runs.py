"""Asks runs a few questions: which ranks are slow, when were devices capped, what are the rates.

    python docs/examples/query_runs.py runs/first runs/second

It needs no other package.
"""

import sys
from collections import defaultdict
from statistics import median

import polars as pl

from milabench_ddp import report


def main(folders: list[str]) -> None:
    """Print what is asked of these runs."""
    found = report.load(*folders)

    print("rates")
    for row in found.benchmarks:
        print(f"  {row.benchmark}: {row.perf:,.1f} {row.unit} on {row.ngpu:g} devices: {row.state}")

    print("the slowest rank of each benchmark, by its own work")
    by_benchmark = defaultdict(list)
    for rank in found.ranks:
        if rank.own_ms > 0:  # false where it is not known: NaN
            by_benchmark[rank.run, rank.benchmark].append(rank)
    for (_, benchmark), ranks in by_benchmark.items():
        slowest = max(ranks, key=lambda rank: rank.own_ms)
        typical = median(rank.own_ms for rank in ranks)
        print(f"  {benchmark}: {slowest.name}, {slowest.own_ms / typical - 1:+.1%}")

    print("steps in the steady state")
    steady = [step for step in found.steps if step.steady]
    print(f"  {len(steady)} of {len(found.steps)}")

    print("the steps of each rank, in ms")
    of_rank = (
        found.frame("steps").filter("steady").group_by("benchmark", "rank", maintain_order=True)
    )
    print(of_rank.agg(median=pl.col("ms").median(), p95=pl.col("ms").quantile(0.95)))


if __name__ == "__main__":
    main(sys.argv[1:])
