"""The formats of a comparison, which lay out what ``compare`` found: a file and a line in FACES."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...codec import encode_indented
from ...errors import shown_names
from ...grouping import grouped
from ...render.blocks import Block, Bullet, Fact, Section, TableBlock
from ...render.markdown import markdown_of
from ...render.text import text_of
from ...table import Column, Measured, Table, csv_text, given_percent_text, table_from
from .comparison_model import ComparedBenchmark, ComparedSide, Comparison, SideRate, Unit
from .sides import Side
from .verdicts import CHANGES, FALSE, RatioVerdict

SHOWN = 3  # runs in a line
CSV: Mapping[str, str] = {  # the columns, and where their values are in a benchmark
    "benchmark": "name",
    "unit": "unit",
    "before": "before.perf",
    "after": "after.perf",
    "ratio": "ratio",
    "low": "interval.0",
    "high": "interval.1",
    "interval_holds": "interval_holds",
    "verdict": "verdict",
    "could_have_seen": "could_have_seen",
    "p_value": "p_value",
    "unit_std": "unit_std",
    "launches_before": "before.launches",
    "launches_after": "after.launches",
    "needed": "needed",
    "reason": "reason",
}


def comparison_blocks(comparison: Comparison) -> Iterator[Block]:
    yield Section(_head(comparison))
    yield Section([TableBlock(comparison_table(comparison))])
    yield Section(map(Bullet, _sentences(comparison)))


def comparison_table(comparison: Comparison) -> Table:
    columns = (
        Column("benchmark", "", "name"),
        Column("before", ",.4g", lambda each: _rate(each.before)),
        Column("after", ",.4g", lambda each: _rate(each.after)),
        Column("ratio", ".3f", _ratio),
        Column("95 % interval", "", _interval, right=True),
        Column("verdict"),
        Column("could have seen", ".1%", "could_have_seen"),
    )
    return table_from(columns, comparison.benchmarks)


def _rate(side: SideRate | None) -> Measured | None:
    return None if side is None else Measured(side.perf, side.perf * side.uncertainty)


def _ratio(each: ComparedBenchmark) -> float | None:
    if each.ratio is None or each.interval is None:
        return each.ratio
    low, high = each.interval
    return Measured(each.ratio, max(high - each.ratio, each.ratio - low))


def _interval(each: ComparedBenchmark) -> str | None:
    ratio = _ratio(each)
    if each.interval is None or not isinstance(ratio, Measured):
        return None
    return " to ".join(Measured(end, ratio.error).text(".3f") for end in each.interval)


def comparison_html(comparison: Comparison, sides: Sequence[Side]) -> str:
    # imported here because it takes long to import
    from .comparison_page import comparison_page

    head = [(fact.name, text) for fact in _head(comparison) for text in fact.texts]
    sentences = list(_sentences(comparison))
    table = comparison_table(comparison)
    return comparison_page(comparison, table, head, sentences, sides)


def _head(comparison: Comparison) -> Iterator[Fact]:
    yield Fact("before", (_side(comparison.before),))
    yield Fact("after", (_side(comparison.after),))
    if comparison.history:
        told = f"{len(comparison.history)} runs, which tell how much runs differ"
        yield Fact("history", (told,))
    differs = [f"{each.field}: {each.before} -> {each.after}" for each in comparison.differences]
    yield Fact("differs", tuple(differs) or ("in nothing that was recorded",))


def _side(side: ComparedSide) -> str:
    runs = shown_names(list(map(str, side.runs)), SHOWN)
    fewest, most = side.launches
    count = f"{most}" if fewest == most else f"{fewest} to {most}"
    launches = f"{count} {'launch' if most == 1 else 'launches'}"
    if len(side.runs) > 1:
        launches = f"{len(side.runs)} runs, {launches}"
    return f"{runs}: {launches}{f'; {side.machine}' if side.machine else ''}"


def _sentences(comparison: Comparison) -> Iterator[str]:
    told = [each for each in comparison.benchmarks if each.reason]
    alike = grouped(((each.verdict, each.reason), each.name) for each in told)
    for (verdict, reason), names in alike.items():
        yield f"{verdict}: {shown_names(names)}: {reason}"
    if comparison.benchmarks:
        yield ", ".join(_counted(comparison))
    if comparison.verdicts.keys() & CHANGES:
        rest = " and nothing else changed between the sides"
        yield (
            f'of all verdicts "slower" and "faster", at most {FALSE:.0%} are expected to be false, '
            f"if {comparison.drawn.several} vary independently"
            f"{'' if comparison.drawn is Unit.PAIR else rest}"
        )
    if RatioVerdict.SAME in comparison.verdicts:
        yield f'"same" is within {given_percent_text(comparison.within)}'
    yield from comparison.notes


def _counted(comparison: Comparison) -> Iterator[str]:
    for verdict, count in comparison.verdicts.items():
        beyond = ""
        if verdict in CHANGES and comparison.threshold:
            beyond = f" by more than {given_percent_text(comparison.threshold)}"
        yield f"{count} {verdict}{beyond}"


FACES: Mapping[str, Callable[[Comparison, Sequence[Side]], str]] = {
    "text": lambda comparison, _: text_of(comparison_blocks(comparison)),
    "markdown": lambda comparison, _: markdown_of(comparison_blocks(comparison)),
    "csv": lambda comparison, _: csv_text(
        table_from([Column(name, "", path) for name, path in CSV.items()], comparison.benchmarks)
    ),
    "json": lambda comparison, _: encode_indented(comparison).decode(),
    "html": comparison_html,
}
