"""``milabench report``: what was measured, from the result files alone."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from ..config.facts import MachineFacts
from ..config.load import SuiteRequest, resolve
from ..config.tree import to_plain
from ..errors import SelectionError
from ..options import ReportOptions
from ..report.build import report_of
from ..report.export import csv_text, json_text
from ..report.model import Report
from ..report.pivot import pivot
from ..report.pivot_text import pivot_csv, pivot_text
from ..report.section import csv_lines, lines
from ..report.sections import BY_NAME
from ..report.text import text

FORMATS: Mapping[str, Callable[[Report], str]] = {"text": text, "csv": csv_text, "json": json_text}


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
        return _table(options.table, options, weights, sys.stdout)
    return run(options.runs, options.compat, options.format, weights, sys.stdout)


def _table(
    name: str, options: ReportOptions, weights: Mapping[str, float] | None, out: TextIO
) -> int:
    """One table alone, as text or as CSV: of this report by its name, or of a sweep's metric."""
    if options.compat or options.format == "json":
        raise SelectionError("--table goes with --format text or csv, and without --compat")
    as_csv = options.format == "csv"
    report = report_of(options.runs, weights=weights)
    if name in BY_NAME:
        if options.rows or options.cols:
            raise SelectionError(f"--rows and --cols are for a metric; {name} is a table")
        section = BY_NAME[name](report.rows)
        out.write(csv_lines(section) if as_csv else "\n".join(lines(section)) + "\n")
    else:
        made = pivot(report, name, options.rows, options.cols)
        out.write(pivot_csv(made) if as_csv else pivot_text(made))
    return 0


def _weights(config: str) -> dict[str, float]:
    """The weights of the enabled benchmarks of a configuration; they do not depend on a machine."""
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
        RunDirError: one of them is no run folder.
    """
    out.write(FORMATS[format](report_of(paths, compat_formulas=compat, weights=weights)))
    return 0


def show(paths: Sequence[str | Path], out: TextIO) -> int:
    """Write the text that ends a run."""
    return run(paths, compat=False, format="text", weights=None, out=out)
