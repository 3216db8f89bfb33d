"""Compares recorded runs between which nothing changed: each slower or faster is a false alarm.

    python -m tests.studies.recorded_pairs RUNS... [--launches 2] [--step 4]

The runs, in the order of their names, were made one after another on one machine. Each pair is made
of runs that follow one another, and its sides take them in turn (before, after, after, before), so
that a machine that drifts favours neither. Pairs begin every ``--step`` runs; with fewer than twice
the launches they share runs. A line for each pair has its verdicts and the ratio that is the
farthest from 1.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_model import Comparison
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.comparison.verdicts import RatioVerdict
from milabench_ddp.results.find_run import run_folders

ALARMS = (RatioVerdict.SLOWER, RatioVerdict.FASTER)


def sides(runs: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The runs of both sides: the first, fourth, fifth, eighth ... and the others."""
    before = [run for place, run in enumerate(runs) if place % 4 in (0, 3)]
    return before, [run for run in runs if run not in before]


def compared(runs: Sequence[Path]) -> Comparison:
    """The comparison of these runs with one another, in turn."""
    before, after = (Side.read(*map(str, side)) for side in sides(runs))
    return comparison_of(before, after, 0.0, None)


def told(comparison: Comparison) -> str:
    """What a pair's line says."""
    counts = ", ".join(f"{count} {verdict}" for verdict, count in comparison.verdicts.items())
    farthest = max(comparison.benchmarks, key=lambda each: abs((each.ratio or 1) - 1))
    return f"{counts}; farthest: {farthest.name} {farthest.ratio or 1:.3f}"


def main() -> int:
    """Print a line for each pair; returns 1 if there is an alarm."""
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--launches", type=int, default=2, help="runs on each side")
    parser.add_argument("--step", type=int, help="runs between two pairs (default: no run twice)")
    given = parser.parse_args()
    runs, size = run_folders(given.runs), 2 * given.launches
    starts = range(0, len(runs) - size + 1, given.step or size)
    alarms = 0
    for start in starts:
        pair = runs[start : start + size]
        comparison = compared(pair)
        alarms += any(verdict in comparison.verdicts for verdict in ALARMS)
        print(f"{pair[0].name} to {pair[-1].name}: {told(comparison)}", flush=True)
    print(f"{len(starts)} pairs of {given.launches} launches a side: {alarms} with an alarm")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
