"""A report as plain text, for a terminal, a file or a pull request: read in sixty seconds.

The verdict and the findings stand first, then a line for each benchmark. What is asked for less
often has a table of its own, which the last line names.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence

from ...fitted import fitted_lines
from ...table import Table, text_lines
from ...visible import in_line
from ...wrapped import wrapped
from ..model import Report
from ..sentences import score
from ..sweeps.sweep import Sweep, block_table, sweeps_of
from ..tables import TABLES
from ..tables.main_table import compact, main_table, milabench_table, stay
from ..tables.speedup import speedup
from .findings import errors_and_warnings, notes
from .head import failure_rate, runs_lines, verdict_lines
from .sections import failures, not_run, skipped_lines, titled, traces

WIDTH = 100  # columns, where no terminal says how many it has
BLOCK = "throughput"  # the metric of a sweep's blocks


def report_text(report: Report, width: int = WIDTH) -> str:
    """The report in lines of at most ``width`` columns, with a newline at its end.

    Words that are wider stay whole, as paths. With milabench's formulas, lines are as long as they
    are.
    """
    blocks = _of_milabench(report) if report.compat else _blocks(report, width)
    texts = ["\n".join(block) for block in blocks]
    return "\n\n".join(filter(None, texts)) + "\n"


def table_text(table: Table, width: int = WIDTH) -> str:
    """A single table, with a newline at its end."""
    return "\n".join(fitted_lines(table, width)) + "\n"


def sweep_text(sweep: Sweep, width: int = WIDTH) -> str:
    """A sweep: the metric, the blocks, and below them the numbered notes and skipped benchmarks."""
    lines = [*wrapped(f"{sweep.metric}: {sweep.meaning}", width), "", *_sweep(sweep, width)]
    if skipped := list(skipped_lines(sweep.skipped, width, "skipped: ")):
        lines += ["", *skipped]
    return "\n".join(lines) + "\n"


def _sweep(sweep: Sweep, width: int) -> Iterator[str]:
    numbers: dict[str, int] = {}
    for place, title in enumerate(sweep.blocks):
        if place:
            yield ""
        if title:
            yield f"{in_line(title)}:"
        yield from fitted_lines(block_table(sweep, title, numbers), width, "  ", ruled=True)
    if numbers:
        yield ""
        for note, number in numbers.items():
            yield from wrapped(note, width, f"[{number}] ")


def _blocks(report: Report, width: int) -> Iterator[Iterable[str]]:
    """The parts of our own report; those without a line are left out."""
    yield [*verdict_lines(report, width), *runs_lines(report.runs, width)]
    yield errors_and_warnings(report, width)
    if report.rows:
        yield fitted_lines(compact(main_table(report.rows)), width, stay=stay())
    if compared := speedup(report.rows):
        yield fitted_lines(compared, width)
    yield from _sweeps(report, width)
    yield titled("Not run", not_run(report.runs, width))
    yield titled("Traces", traces(report.runs, width))
    yield titled("Notes", notes(report, width, most=1))
    yield titled("Failures", failures(report, width))
    yield _more(report, width)


def _sweeps(report: Report, width: int) -> Iterator[Iterable[str]]:
    for sweep in sweeps_of(report, BLOCK, fewest_axes=2):
        title = f"{BLOCK.capitalize()} of {sweep.name or 'the sweep'}"
        yield titled(title, _sweep(sweep, width))


def _more(report: Report, width: int) -> Iterator[str]:
    names = []
    for name, make_table in TABLES.items():
        if any(make_table([row]) for row in report.rows):  # mostly the first one tells
            names.append(name)
    if report.findings:
        names.append("findings")
    if names:
        yield from wrapped(", ".join(names), width, "More: --table ", " " * 6)


def _of_milabench(report: Report) -> Iterator[Sequence[str]]:
    width = sys.maxsize
    for run in report.runs:
        yield list(runs_lines([run], width))
    yield ["The statistics are milabench's own: they include warm-up and failed processes."]
    yield list(errors_and_warnings(report, width))
    shown = text_lines(milabench_table(report.rows))
    yield list(shown) if report.rows else ["Nothing was measured."]
    yield [f"Failure rate:  {failure_rate(report)}", f"Score:         {score(report):>10}"]
    yield list(titled("Skipped", not_run(report.runs, width)))
    yield list(titled("Notes", notes(report, width)))
    yield list(titled("Failures", failures(report, width)))
