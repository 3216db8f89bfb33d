"""A table of the report as a table of the page, which a reader can sort."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...table import Column, Table, is_unknown
from ..statistics.values import NAN, median
from .markup import Html, joined, tag, text

MOST_ROWS = 512  # of a table; a command shows the others
# By how much a value is above or below the median of its column: the shades, the same everywhere,
# so that colour never makes much of little.
SHADES = (0.01, 0.02, 0.05, 0.1, 0.2)


def html_table(
    table: Table,
    *,
    shaded: Mapping[str, str] | None = None,
    left_out: Collection[str] = ("benchmark",),
    marked: Collection[str] = (),
    whole: str = "",
) -> Html:
    """The table with its notes.

    Args:
        table: the table.
        shaded: the columns whose cells show by colour how far they are from the median of their
            column, and the column whose median that is a share of: of a step, for its parts.
        left_out: the columns that are not shown.
        marked: texts of first cells whose rows are marked, because a finding is about them.
        whole: what shows all rows, where there are too many for a page.
    """
    shown = [k for k, column in enumerate(table.columns) if column.name not in left_out]
    columns = [table.columns[k] for k in shown]
    rows = [[row[k] for k in shown] for row in table.rows]
    shades = _shades(columns, rows, shaded or {})
    body = []
    for row in rows[:MOST_ROWS]:
        first = columns[0].text(row[0])
        cells = [tag("th", first, scope="row")]
        for column, value, (middle, of) in zip(columns[1:], row[1:], shades[1:], strict=True):
            cells.append(cell(column, value, shade(value, middle, of)))
        body.append(tag("tr", *cells, class_="marked" if first in marked else None))
    notes = [tag("p", note, class_="note") for note in table.notes]
    if len(rows) > MOST_ROWS:
        more = f"The first {MOST_ROWS} of {len(rows)} rows. All of them: {whole}"
        notes.append(tag("p", more, class_="note"))
    inside = scrolled(table.title, head(columns), tag("tbody", *body))
    return joined([inside, *notes])


def _shades(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], shaded: Mapping[str, str]
) -> list[tuple[float, float]]:
    """The median of each column, and of what a distance from it is a share; NaN without shades."""
    middles: dict[str, float] = {}
    for k, column in enumerate(columns):
        if column.name in {*shaded, *shaded.values()}:
            middles[column.name] = median(row[k] for row in rows)
    found = []
    for column in columns:
        whole = middles.get(shaded.get(column.name, ""), NAN)
        found.append((middles.get(column.name, NAN), whole))
    return found


def scrolled(name: str, *parts: Html, **attributes: object) -> Html:
    """A table in a box that scrolls by itself where the window is narrow."""
    inside = tag("table", *parts, **attributes)
    return tag("div", inside, class_="scroll", role="region", aria_label=name, tabindex="0")


def head(columns: Sequence[Column]) -> Html:
    """The head of a table; each column has a button that sorts by it."""
    cells = []
    for column in columns:
        side = "number" if column.stands_right else None
        cells.append(tag("th", tag("button", column.name, type="button"), scope="col", class_=side))
    return tag("thead", tag("tr", *cells))


def cell(column: Column, value: Any, shade: str = "") -> Html:
    """A cell with the text of the value; there are too many of them for ``tag``."""
    shown = text(column.text(value).strip())
    classes = " ".join(filter(None, ("number" if column.stands_right else "", shade)))
    return Html(f'<td class="{classes}">{shown}</td>' if classes else f"<td>{shown}</td>")


def shade(value: Any, middle: float, whole: float) -> str:
    """The class of the shade of a value: ``up1`` to ``up5`` above the middle, ``down1`` below."""
    if is_unknown(value) or not whole > 0:
        return ""
    off = (float(value) - middle) / whole
    steps = sum(abs(off) >= least for least in SHADES)
    return f"{'up' if off > 0 else 'down'}{steps}" if steps else ""
