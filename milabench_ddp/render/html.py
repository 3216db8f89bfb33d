"""HTML by the templates beside it: every text is shown safely, whichever template shows it."""

import math
import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from ..codec import encode
from ..hidden import SECRETS
from ..table import Column, Table, is_unknown
from ..visible import NUMBERS

TEMPLATES = Path(__file__).with_name("templates")
MOST_ROWS = 512  # of a table; a command shows the others
# By how much a value is above or below the median of its column: the shades, the same everywhere,
# so that colour never makes much of little.
SHADES = (0.01, 0.02, 0.05, 0.1, 0.2)
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_.]+")
_NO_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}  # no XML can have them
_ESCAPED = NUMBERS | _NO_CHARACTERS | {ord(mark): escape(mark) for mark in "&<>\"'"}


def text(value: object) -> Markup:
    """A value as text of a page: without secrets, with numbers for what cannot be seen, escaped."""
    if isinstance(value, Markup):
        return value
    return Markup(SECRETS.hide(str(value)).translate(_ESCAPED))


def place(value: float) -> str:
    """A coordinate of a drawing, to a tenth.

    Raises:
        ValueError: it is not finite: nothing can be drawn there.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} has no place in a drawing")
    shown = f"{value:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown


def render(template: str, **values: object) -> Markup:
    return Markup(_environment().get_template(template).render(values))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_source), autoescape=True, finalize=text, undefined=StrictUndefined
    )
    made.filters["place"] = place
    made.filters["json"] = lambda value: encode(value).decode(errors="replace")
    return made


def _source(name: str) -> str:
    lines = (TEMPLATES / name).read_text("utf-8").splitlines()
    return "".join(line.strip() for line in lines)


def html_table(
    table: Table,
    *,
    shaded: Mapping[str, str] | None = None,
    left_out: Collection[str] = ("benchmark",),
    marked: Collection[str] = (),
    whole: str = "",
    label: str = "",
) -> Markup:
    """The table with its notes; a reader can sort it.

    Args:
        shaded: the columns whose cells show by colour how far they are from the median of their
            column, and the column whose median that is a share of: of a step, for its parts.
        marked: texts of first cells whose rows are marked, because a finding is about them.
        whole: what shows all rows, where there are too many for a page.
        label: a name that no other table of the page has; empty: its title.
    """
    shaded = shaded or {}
    names = table.names
    middles = {}
    for name in shaded.keys() & set(names):
        values = [row[names.index(name)] for row in table.rows]
        known = [value for value in values if not is_unknown(value)]
        middles[name] = statistics.median(known) if known else math.nan
    first, *others = [k for k, name in enumerate(names) if name not in left_out]
    rows = []
    for row in table.rows[:MOST_ROWS]:
        title = table.columns[first].text(row[first])
        cells = [f'<th scope="row">{text(title)}</th>']
        for k in others:
            middle = middles.get(names[k], math.nan)
            share_of = middles.get(shaded.get(names[k], ""), math.nan)
            cells.append(cell(table.columns[k], row[k], shade(row[k], middle, share_of)))
        begin = '<tr class="marked">' if title in marked else "<tr>"
        rows.append(f"{begin}{''.join(cells)}</tr>")
    columns = [table.columns[k] for k in (first, *others)]
    return render(
        "table.html", table=table, columns=columns, rows=Markup("".join(rows)), most=MOST_ROWS,
        whole=whole, label=label or table.title,
    )  # fmt: skip


def cell(column: Column, value: object, shade: str = "") -> Markup:
    """A cell with the text of the value; there are too many of them for a template."""
    shown = text(column.text(value).strip())
    classes = " ".join(filter(None, ("number" if column.stands_right else "", shade)))
    return Markup(f'<td class="{classes}">{shown}</td>' if classes else f"<td>{shown}</td>")


def shade(value: Any, middle: float, whole: float) -> str:
    """The class of the shade of a value: ``up1`` to ``up5`` above the middle, ``down1`` below."""
    if is_unknown(value) or not whole > 0:
        return ""
    off = (float(value) - middle) / whole
    steps = sum(abs(off) >= least for least in SHADES)
    return f"{'up' if off > 0 else 'down'}{steps}" if steps else ""


def anchors_of(names: Sequence[str]) -> dict[str, str]:
    """An id for each name, which may be any text; ``<id>--ranks`` is a place in its section."""
    ids: dict[str, str] = {}
    for name in names:
        plain = _NOT_IN_AN_ID.sub("-", name).strip("-")
        wanted = f"bench-{plain}" if plain else "bench"
        free, number = wanted, 2
        while free in ids.values():
            free, number = f"{wanted}_{number}", number + 1
        ids.setdefault(name, free)
    return ids
