"""The formats of a comparison, which lay out what ``compare`` found: a file and a line in FACES."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...codec import encode_indented
from ...errors import shown_names
from ...fitted import fitted_lines
from ...marked import marked, table_lines
from ...table import Column, Measured, Table, csv_text, given_percent_text
from ...wrapped import wrapped
from .comparison_page import comparison_page
from .model import ComparedBenchmark, ComparedSide, Comparison, SideRate, Unit
from .verdicts import FALSE, RatioVerdict

WIDTH = 100  # columns
SHOWN = 3  # runs in a line
LONG = 20  # rows; of a longer table, what changed is told by name below it, too

TEXT_COLUMNS = (
    Column("benchmark"),
    Column("before", ",.4g"),
    Column("after", ",.4g"),
    Column("ratio", ".3f"),
    Column("95 % interval", right=True),
    Column("verdict"),
    Column("could have seen", ".1%"),
)
CSV_COLUMNS = (
    *map(Column, ("benchmark", "unit", "before", "after", "ratio", "low", "high")),
    *map(Column, ("interval_holds", "verdict", "could_have_seen", "p_value", "unit_std")),
    *map(Column, ("launches_before", "launches_after", "needed", "reason")),
)


def comparison_text(comparison: Comparison, width: int = WIDTH) -> str:
    """For a terminal: what differs, the table, and below it what to know about it."""
    lines: list[str] = []
    last = ""
    for title, said in _head(comparison):
        lines += wrapped(said, width, first=f"{'' if title == last else title:8} ")
        last = title
    lines += ["", *fitted_lines(comparison_table(comparison), width), ""]
    for sentence in _sentences(comparison):
        lines += wrapped(sentence, width, rest="  ")
    return "\n".join(lines) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    lines = [f"- **{title}** {marked(said)}" for title, said in _head(comparison)]
    lines += ["", *table_lines(comparison_table(comparison)), ""]
    lines += [f"- {marked(sentence)}" for sentence in _sentences(comparison)]
    return "\n".join(lines) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """The table for a spreadsheet, at full precision."""
    rows = []
    for each in comparison.benchmarks:
        before, after, interval = each.before, each.after, each.interval or (None, None)
        rows.append(
            (
                *(each.name, each.unit, before and before.perf, after and after.perf, each.ratio),
                *(*interval, each.interval_holds, each.verdict, each.could_have_seen),
                *(each.p_value, each.unit_std, before and before.launches),
                *(after and after.launches, each.needed, each.reason),
            )
        )
    return csv_text(Table(CSV_COLUMNS, tuple(rows)))


def comparison_json(comparison: Comparison) -> str:
    """Everything, at full precision, as ``docs/reference/comparison.schema.json`` describes it."""
    return encode_indented(comparison).decode()


def comparison_html(comparison: Comparison) -> str:
    said = list(_head(comparison)), list(_sentences(comparison))
    return comparison_page(comparison, comparison_table(comparison), *said)


def comparison_table(comparison: Comparison) -> Table:
    """A row for each benchmark, for people."""
    return Table(TEXT_COLUMNS, tuple(map(_row, comparison.benchmarks)))


def _row(each: ComparedBenchmark) -> tuple[Any, ...]:
    rates = [side and _digits(side) for side in (each.before, each.after)]
    if each.ratio is None or each.interval is None:
        return (each.name, *rates, each.ratio, None, each.verdict, each.could_have_seen)
    low, high = each.interval
    error = max(high - each.ratio, each.ratio - low)
    ends = [Measured(end, error).text(".3f") for end in each.interval]
    return (
        *(each.name, *rates, Measured(each.ratio, error), " to ".join(ends), each.verdict),
        each.could_have_seen,
    )


def _digits(side: SideRate) -> Measured:
    return Measured(side.perf, side.perf * side.uncertainty)


def _head(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield "before", _side(comparison.before)
    yield "after", _side(comparison.after)
    if comparison.history:
        yield "history", f"{len(comparison.history)} runs, which tell how much runs differ"
    for differs in comparison.differences:
        yield "differs", f"{differs.field}: {differs.before} -> {differs.after}"
    if not comparison.differences:
        yield "differs", "in nothing that was recorded"


def _side(side: ComparedSide) -> str:
    runs = shown_names(list(map(str, side.runs)), SHOWN)
    fewest, most = side.launches
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    launches = f"{count} {'launch' if most == 1 else 'launches'}"
    if len(side.runs) > 1:
        launches = f"{len(side.runs)} runs, {launches}"
    return f"{runs}: {launches}{f'; {side.machine}' if side.machine else ''}"


def _sentences(comparison: Comparison) -> Iterator[str]:
    alike: dict[tuple[str, str], list[str]] = {}
    for each in comparison.benchmarks:
        if each.reason:
            alike.setdefault((each.verdict, each.reason), []).append(each.name)
    for (verdict, reason), names in alike.items():
        yield f"{verdict}: {shown_names(names)}: {reason}"
    if len(comparison.benchmarks) > LONG:
        yield from _changed(comparison)
    if comparison.benchmarks:
        yield ", ".join(_counted(comparison))
    if comparison.verdicts.keys() & {RatioVerdict.SLOWER, RatioVerdict.FASTER}:
        rest = " and nothing else changed between the sides"
        yield (
            f'of all verdicts "slower" and "faster", at most {FALSE:.0%} are expected to be false, '
            f"if {comparison.drawn.several} vary independently"
            f"{'' if comparison.drawn is Unit.PAIR else rest}"
        )
    if RatioVerdict.SAME in comparison.verdicts:
        yield f'"same" is within {given_percent_text(comparison.within)}'
    yield from comparison.notes


def _changed(comparison: Comparison) -> Iterator[str]:
    for verdict in (RatioVerdict.SLOWER, RatioVerdict.FASTER):
        found = [each for each in comparison.benchmarks if each.verdict is verdict]
        found.sort(key=lambda each: -abs(math.log(each.ratio or 1.0)))
        if found:
            yield f"{verdict}: {shown_names([each.name for each in found])}"


def _counted(comparison: Comparison) -> Iterator[str]:
    """How many benchmarks have each verdict: ``1 slower by more than 3%``."""
    for verdict, count in comparison.verdicts.items():
        is_change = verdict in (RatioVerdict.SLOWER, RatioVerdict.FASTER)
        beyond = ""
        if is_change and comparison.threshold:
            beyond = f" by more than {given_percent_text(comparison.threshold)}"
        yield f"{count} {verdict}{beyond}"


FACES: Mapping[str, Callable[[Comparison], str]] = {
    "text": comparison_text,
    "markdown": comparison_markdown,
    "csv": comparison_csv,
    "json": comparison_json,
    "html": comparison_html,
}
