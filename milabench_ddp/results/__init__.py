"""The results of runs, for scripts and notebooks.

    from milabench_ddp import results

    run = results.load("runs/first")
    for benchmark in run.benchmarks:
        print(benchmark.benchmark, benchmark.perf, benchmark.unit)
    steps = run.frame("steps")  # a data frame of pandas

``docs/export.rst`` lists the tables with their columns and units. All else in this package is
internal: the files of a run, their paths, writers and readers.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..report.tidy.run_tables import RunTables

__all__ = ["load"]


def load(*runs: str | Path) -> "RunTables":
    """Read runs, and report on each by itself.

    Args:
        runs: run folders, folders that hold runs, or globs.

    Raises:
        MilabenchError: one of them is not a run, or no run matches a glob.
    """
    # Importing this room must not import the report, which is above it: only this call does.
    from ..report.tidy.run_tables import RunTables

    return RunTables(runs)
