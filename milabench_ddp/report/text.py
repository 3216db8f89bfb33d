"""A report as plain text: for a terminal, a file or a pull request alike."""

import math
import time
from collections.abc import Iterable, Iterator

from .columns import COLUMNS, UNIT, Column
from .model import Failure, Report, Row, RunInfo
from .section import Heading, aligned, lines
from .sections import IN_THE_TEXT
from .skipped import by_reason, some

MOST_WARNINGS = 40
MOST_ALIKE = 5
_RATES = ("perf", "score")


def text(report: Report) -> str:
    """The whole report, with a newline at its end."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    for run in report.runs:
        yield from _run(run)
        yield ""
    if report.compat:
        yield "The statistics are milabench's own: warm-up is in them, and failed processes too."
        yield ""
    if report.rows:
        yield from table(report.rows, compat=report.compat)
    else:
        yield "Nothing was measured."
    yield ""
    yield f"Failure rate:  {_failure_rate(report)}"
    yield f"Score:         {_score(report)}"
    for make in IN_THE_TEXT:
        if section := make(report.rows):
            yield ""
            yield from lines(section)
    yield from _section("Skipped", _skipped(pair for run in report.runs for pair in run.skipped))
    yield from _section("Notes", report.notes)
    yield from _section("Warnings", _few(report.warnings))
    if report.failures:
        yield ""
        yield "Failures"
        yield "--------"
        for k, failure in enumerate(report.failures):
            if k:
                yield ""
            yield from _failure(failure, name_run=len(report.runs) > 1)


def _run(run: RunInfo) -> Iterator[str]:
    yield f"Run      {run.path}{_outcome(run)}"
    if now := [f"{what}: {', '.join(names)}" for what, names in _states(run) if names]:
        yield f"State    {'; '.join(now)}"
    if when := _when(run):
        yield f"Time     {when}"
    machine = [part for part in (run.host, run.devices or run.arch, run.cpu, run.version) if part]
    if machine:
        yield f"Machine  {'; '.join(machine)}"
    if run.preset:
        yield f"Preset   {_preset(run)}"


def _states(run: RunInfo) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "running", run.running
    # what waits in a run that has ended never ran, and stands among the failures
    yield "waiting", run.waiting if run.outcome is None else ()


def _outcome(run: RunInfo) -> str:
    if run.outcome is None:
        return ": still going on"
    return f": {run.outcome}" if run.outcome else ""


def _when(run: RunInfo) -> str:
    if run.started is None:
        return ""
    started = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(run.started))
    if run.seconds is None:
        return started
    minutes, seconds = divmod(round(run.seconds), 60)
    return f"{started}, {minutes} min {seconds} s" if minutes else f"{started}, {run.seconds:.1f} s"


def _preset(run: RunInfo) -> str:
    if run.arch == "cpu":
        return f"{run.preset}, on a CPU: not to be compared with a GPU's numbers"
    if run.preset != "full":
        return f"{run.preset}: not to be compared with the full preset's numbers"
    return run.preset


def table(rows: Iterable[Row], *, compat: bool = False) -> Iterator[str]:
    """The rows under their header; numbers to the right, as milabench formats them.

    It shows hundredths, of which a rate below 1 has no more than two; ours has three digits there,
    unless ``compat`` asks for its own.
    """
    rows = list(rows)
    columns = (*COLUMNS, UNIT) if any(row.unit for row in rows) else COLUMNS
    cells = [[_cell(column, row, compat=compat) for column in columns] for row in rows]
    yield from aligned([Heading(column.name, column.format) for column in columns], cells)


def _cell(column: Column, row: Row, *, compat: bool) -> str:
    value = column.value(row)
    if column.name in _RATES and not compat and 0 < abs(value) < 1:
        return f"{value:#10.3g}"
    return format(value, column.format) if column.format else str(value)


def _score(report: Report) -> str:
    if math.isnan(report.score):
        return "none: no benchmark here has a weight"
    return f"{report.score:10.2f}"


def _failure_rate(report: Report) -> str:
    return f"{report.failure_rate:10.2%} ({'PASS' if report.passed else 'FAIL'})"


def _section(title: str, said: Iterable[str]) -> Iterator[str]:
    said = list(said)
    if said:
        yield ""
        yield title
        yield "-" * len(title)
        yield from said


def _skipped(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each with its reason; many of one reason in one line."""
    for why, names in by_reason(pairs):
        if len(names) > MOST_ALIKE:
            yield f"{some(names)}: {why}"
        else:
            yield from (f"{name}: {why}" for name in names)


def _few(warnings: tuple[str, ...]) -> Iterator[str]:
    yield from warnings[:MOST_WARNINGS]
    if len(warnings) > MOST_WARNINGS:
        yield f"... and {len(warnings) - MOST_WARNINGS} more: all of them with --format json"


def _failure(failure: Failure, name_run: bool) -> Iterator[str]:
    where = failure.tag or failure.benchmark
    rank = f"rank {failure.rank}" if failure.rank is not None else ""
    reason = failure.reason.removeprefix(f"{rank}: ") if rank else failure.reason
    of = f" [{failure.run}]" if name_run and failure.run else ""
    who = f"{where}, {rank}" if rank else where
    yield ": ".join(part for part in (who, failure.outcome, reason) if part) + of
    yield from (f"    {line}".rstrip() for line in failure.lines)
    if failure.whole:
        yield f"    -> all of it: {failure.whole}"
    elif failure.tag:
        yield "    (it printed nothing)"
