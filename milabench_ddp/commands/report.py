"""``milabench report``: print the report of runs, from their result files alone."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ..errors import SelectionError
from ..options import ReportOptions
from ..report.assemble import report_of
from ..report.formats import FORMATS
from ..report.sweep import sweep_of
from ..report.tables import TABLES


def main(options: ReportOptions) -> int:
    """``milabench report RUN...``."""
    if options.format not in FORMATS:
        raise SelectionError(
            f"--format {options.format}: unknown; choose from {', '.join(FORMATS)}"
        )
    if options.csv:
        if options.format == "json":
            raise SelectionError("--csv and --format json ask for two formats: leave one out")
        options = replace(options, format="csv")
    weights = None if options.config is None else _weights(options.config)
    if options.table is not None:
        sys.stdout.write(_table(options.table, options, weights))
        return 0
    return run(options.runs, options.compat, options.format, weights, sys.stdout)


def _table(name: str, options: ReportOptions, weights: Mapping[str, float] | None) -> str:
    """One table alone: a table of the report by its name, or the table of a sweep by its metric."""
    format = FORMATS[options.format]
    if options.compat or not format.table or not format.sweep:
        able = " or ".join(name for name, known in FORMATS.items() if known.table)
        raise SelectionError(f"--table goes with --format {able}, and without --compat")
    report = report_of(options.runs, weights=weights)
    if name not in TABLES:
        return format.sweep(sweep_of(report, name, options.rows, options.cols))
    if options.rows or options.cols:
        raise SelectionError(f"--rows and --cols are for the metrics of a sweep, not for {name}")
    return format.table(TABLES[name](report.rows))


def _weights(config: str) -> dict[str, float]:
    """The weights of a configuration's enabled benchmarks, which do not depend on the machine."""
    # imported here because few reports need a configuration, and reading one takes long to import
    from ..config.facts import MachineFacts
    from ..config.load import SuiteRequest, resolve
    from ..config.tree import to_plain

    nowhere = MachineFacts("cpu", 1, 1, 1, "", 0.0, Path.cwd())
    benchmarks = resolve(SuiteRequest(config), nowhere).benchmarks
    tables = {name: to_plain(result.entry) for name, result in benchmarks.items()}
    return {name: float(t["weight"]) for name, t in tables.items() if t["enabled"]}


def run(
    paths: Sequence[str | Path],
    compat: bool,
    format: str,
    weights: Mapping[str, float] | None,
    out: TextIO,
) -> int:
    """Write the report on one or several run folders, pooled; returns 0, even if benchmarks failed.

    Args:
        paths: the run folders.
        compat: whether to use milabench's own statistics.
        format: one of ``FORMATS``.
        weights: the weights of enabled benchmarks, by name; None: those that were recorded.
        out: the stream to write to.

    Raises:
        RunDirError: one of them is not a run folder.
    """
    out.write(FORMATS[format].report(report_of(paths, compat_formulas=compat, weights=weights)))
    return 0


def show(paths: Sequence[str | Path], out: TextIO) -> int:
    """Write the report as text, as at the end of a run."""
    return run(paths, compat=False, format="text", weights=None, out=out)
