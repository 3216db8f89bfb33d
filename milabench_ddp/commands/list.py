"""``milabench list``: what would run, and why the rest would not."""

import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from ..config.facts import MachineFacts
from ..config.load import SuiteRequest, load
from ..config.schema import Benchmark, Suite
from ..config.tree import shown
from ..options import SuiteOptions
from . import setup

_HEAD = ("name", "plan", "preset", "tags", "program")


def main(options: SuiteOptions) -> int:
    """``milabench list CONFIG``, on this host."""
    return run(*setup.resolve_request(options), sys.stdout)


def run(request: SuiteRequest, facts: MachineFacts, out: TextIO) -> int:
    """Print a table of the benchmarks that would run, and below it the reasons of the others.

    Returns 0; raises ConfigError and SelectionError.
    """
    for line in _lines(load(request, facts)):
        out.write(f"{line}\n")
    return 0


def _lines(suite: Suite) -> Iterator[str]:
    total = len(suite.benchmarks) + len(suite.skipped)
    count = f"{len(suite.benchmarks)} of {total} benchmarks would run"
    yield f"{shown(suite.path)}, preset {suite.preset}: {count}"
    if suite.benchmarks:
        yield ""
        yield from _aligned([_HEAD, *(_row(benchmark) for benchmark in suite.benchmarks)])
    if suite.skipped:
        yield ""
        yield "not run:"
        rows = _aligned([(skip.name, skip.reason) for skip in suite.skipped])
        yield from (f"  {row}" for row in rows)


def _row(benchmark: Benchmark) -> tuple[str, ...]:
    tags = ",".join(sorted(benchmark.tags))
    return (
        benchmark.name,
        str(benchmark.plan),
        benchmark.preset or "-",
        tags or "-",
        shown(benchmark.program),
    )


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
