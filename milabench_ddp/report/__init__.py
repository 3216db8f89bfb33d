"""The report on runs, for scripts and notebooks.

    from milabench_ddp import report

    found = report.load("runs/first")
    for benchmark in found.benchmarks:
        print(benchmark.benchmark, benchmark.perf, benchmark.unit)
    steps = found.frame("steps")  # a frame of polars

``docs/export.rst`` lists the tables with their columns and units. All else in this package is
internal.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .export import RunTables

__all__ = ["load"]


def load(*runs: str | Path) -> "RunTables":
    """Read runs, and report on each by itself.

    Args:
        runs: run folders, folders that hold runs, or globs.

    Raises:
        MilabenchError: one of them is not a run, or no run matches a glob.
    """
    # Each module of this package imports this file: the tables are for this call alone.
    from .export import RunTables

    return RunTables(runs)
