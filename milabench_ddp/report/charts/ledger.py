"""Where the time of a step goes: the items of the ledger, stacked, for each rank."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...results.records import is_finite
from ...table import Table
from ..model import Report, Row
from ..ranks.ledger import WAITING
from ..tables.ledger_table import ITEMS
from ..tables.ledger_table import ledger as ledger_table
from .bars import Bar, Bars
from .chart import Chart
from .plot import Axis
from .scale import from_zero
from .theme import TEXTURES

MOST = 48  # ranks that are drawn
# The areas of the items, by the titles of their columns
KINDS: Mapping[str, str] = {
    title: name if name in TEXTURES else "backward" for name, title in ITEMS.items()
}
Line = Mapping[str, Any]  # a row of the table, by its columns


def ledger(report: Report) -> Iterator[Chart]:
    """A chart for each benchmark whose ranks tell what is exposed."""
    for row in report.rows:
        table = ledger_table([row])
        if table:
            yield ledger_chart(row, table)


def ledger_chart(row: Row, table: Table, most: int = MOST) -> Chart:
    """The chart of a benchmark.

    Args:
        row: the benchmark.
        table: its ledger.
        most: the number of ranks that are drawn.
    """
    names = [column.name for column in table.columns]
    lines: list[Line] = [dict(zip(names, values, strict=True)) for values in table.rows]
    items = [name for name in names if name in KINDS]
    shown = _shown(lines, most)
    bars = []
    for line in shown:
        parts = tuple((KINDS[name], line[name]) for name in items)
        bars.append(Bar(str(line["rank"]), parts, words=f"{line['ms']:.4g} ms"))
    named = tuple((KINDS[name], name) for name in items)
    drawn = Bars(Axis("mean step, ms", from_zero), tuple(bars), named)
    title = f"{row.name}: where the time of a step goes"
    return Chart(
        "ledger", row.name, "", title, _description(lines, items, shown), drawn.draw, table
    )


def _shown(lines: Sequence[Line], most: int) -> Sequence[Line]:
    """The ranks that are drawn: of many those that wait least and most, and some between."""
    everyone, *ranks = lines
    if len(ranks) <= most:
        return lines
    by_waiting = sorted(ranks, key=lambda line: line.get(WAITING) or 0.0)
    third, middle = most // 3, len(ranks) // 2
    first = middle - third // 2
    kept = by_waiting[:third] + by_waiting[first : first + third] + by_waiting[-third:]
    return [everyone, *(line for line in ranks if any(line is each for each in kept))]


def _description(lines: Sequence[Line], items: Sequence[str], shown: Sequence[Line]) -> str:
    mean = lines[0]
    told = [f"{name} {mean[name]:.3g}" for name in items if is_finite(mean[name])]
    words = f"The mean step of all ranks takes {mean['ms']:.4g} ms: {', '.join(told)}."
    if len(shown) < len(lines):
        words += (
            f" Of {len(lines) - 1:,} ranks, {len(shown) - 1} are drawn: "
            "those that wait least and most for others, and some between."
        )
    return words
