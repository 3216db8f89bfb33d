"""``milabench report``: what was measured, from the result files alone."""

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
        raise SelectionError(f"--format {options.format}: unknown; known are {', '.join(FORMATS)}")
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
    """One table alone: of this report by its name, or of a sweep's metric."""
    format = FORMATS[options.format]
    if options.compat or not format.table or not format.sweep:
        able = " or ".join(name for name, known in FORMATS.items() if known.table)
        raise SelectionError(f"--table goes with --format {able}, and without --compat")
    report = report_of(options.runs, weights=weights)
    if name not in TABLES:
        return format.sweep(sweep_of(report, name, options.rows, options.cols))
    if options.rows or options.cols:
        raise SelectionError(f"--rows and --cols are for a metric; {name} is a table")
    return format.table(TABLES[name](report.rows))


def _weights(config: str) -> dict[str, float]:
    """The weights of the enabled benchmarks of a configuration; they do not depend on a machine."""
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
    """Write the report about some run folders, pooled; 0, also where it tells of failures.

    Args:
        paths: the run folders.
        compat: whether to use milabench's own statistics.
        format: one of ``FORMATS``.
        weights: of the enabled benchmarks of a configuration, by name; the recorded ones if None.
        out: where to.

    Raises:
        RunDirError: one of them is not a run folder.
    """
    out.write(FORMATS[format].report(report_of(paths, compat_formulas=compat, weights=weights)))
    return 0


def show(paths: Sequence[str | Path], out: TextIO) -> int:
    """Write the text that ends a run."""
    return run(paths, compat=False, format="text", weights=None, out=out)
