"""A table as lines of a given width: it gives up first what costs its reader least."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from .table import (
    Lines,
    Table,
    column_widths,
    is_unknown,
    only_columns,
    text_lines,
    with_alike_below,
)
from .visible import in_line
from .wrapped import width_of, wrapped

WIDEST_TEXT = 0.3  # of the width, for a column of texts
NARROWEST_TEXT = 16  # columns


def fitted_lines(
    table: Table,
    width: int,
    separator: str = " | ",
    *,
    ruled: bool = False,
    stay: Sequence[str] = (),
) -> Iterator[str]:
    """A table in lines that are at most ``width`` wide, whatever is in it.

    If it is wider, columns that show the same in all rows are told below, and texts are wrapped
    in their cells; with several columns of long texts, each row becomes a block of lines. What is
    still too wide comes in parts, one below the other, or leaves out columns.

    Args:
        table: the table.
        width: in columns of the terminal.
        separator: the text between two columns.
        ruled: whether to put a line of dashes below the header.
        stay: names of columns, in the order in which they stay if not all have room; what is left
            out is told below. Empty: none is left out, and the table comes in parts.
    """
    notes = table.notes
    shown = replace(table, notes=())
    if _width(shown, separator) > width:
        shown = with_alike_below(shown)
        notes += shown.notes
        shown = replace(shown, notes=())
    parts = [shown]
    needed = _width(shown, separator)
    if needed > width:
        has_long_texts = len(_long_texts(shown, width)) > 1
        shown_texts = _with_wrapped_texts(shown, width, separator)
        if stay:
            part, left_out = _with_first(shown_texts, width, separator, stay)
            parts = [part]
            if left_out:
                notes += (f"(left out: {', '.join(left_out)}; --width {needed} shows all)",)
        elif has_long_texts:
            yield from _blocks(shown, width)
            parts = []
        else:
            parts = list(_parts(shown_texts, width, separator))
    for index, part in enumerate(parts):
        if index:
            yield ""
        yield from text_lines(part, separator, ruled=ruled)
    for note in notes:
        yield from wrapped(note, width, rest=" ")


def _width(table: Table, separator: str) -> int:
    return _together(column_widths(table), separator)


def _together(widths: Sequence[int], separator: str) -> int:
    return sum(widths) + len(separator) * (len(widths) - 1)


def _widest_text(width: int) -> int:
    return max(NARROWEST_TEXT, int(WIDEST_TEXT * width))


def _long_texts(table: Table, width: int) -> list[int]:
    widths = column_widths(table)
    found = []
    for index, column in enumerate(table.columns):
        if not column.stands_right and widths[index] > _widest_text(width):
            found.append(index)
    return found


def _with_wrapped_texts(table: Table, width: int, separator: str) -> Table:
    """The table with its long texts in several lines; the last such column takes what is left."""
    rooms = dict.fromkeys(_long_texts(table, width), _widest_text(width))
    if rooms:
        last = max(rooms)
        of_others = _width(table, separator) - sum(column_widths(table)[index] for index in rooms)
        left = width - of_others - _widest_text(width) * (len(rooms) - 1)
        rooms[last] = max(rooms[last], left)
    rows = []
    for row in table.rows:
        values = list(row)
        for index, room in rooms.items():
            text = table.columns[index].text(row[index])
            values[index] = Lines("\n".join(wrapped(text, room, cut=True)))
        rows.append(tuple(values))
    return replace(table, rows=tuple(rows))


def _with_first(
    table: Table, width: int, separator: str, stay: Sequence[str]
) -> tuple[Table, list[str]]:
    """The table with the columns that fit, those of ``stay`` first, and the names of the others."""
    widths = column_widths(table)
    names = [column.name for column in table.columns]
    by_name = {name: place for place, name in enumerate(stay)}
    order = sorted(range(1, len(names)), key=lambda index: by_name.get(names[index], len(stay)))
    kept, room = {0}, width - widths[0]
    for index in order:
        taken = len(separator) + widths[index]
        if taken <= room:
            kept.add(index)
            room -= taken
    left_out = [name for index, name in enumerate(names) if index not in kept]
    return only_columns(table, sorted(kept)), left_out


def _parts(table: Table, width: int, separator: str) -> Iterator[Table]:
    """The table in parts that fit; each begins with the columns that tell its rows apart."""
    widths = column_widths(table)
    keys = _keys(table, widths, width / 2, separator)
    kept = list(range(keys))
    for index in range(keys, len(widths)):
        wider = [widths[each] for each in (*kept, index)]
        if _together(wider, separator) > width and len(kept) > keys:
            yield only_columns(table, kept)
            table = replace(table, title="")
            kept = list(range(keys))
        kept.append(index)
    yield only_columns(table, kept)


def _keys(table: Table, widths: Sequence[int], most: float, separator: str) -> int:
    """How many of the first columns tell the rows apart; 1 if they are wider than ``most``."""
    for count in range(1, len(widths)):
        if _together(widths[:count], separator) > most:
            break
        if len({row[:count] for row in table.rows}) == len(table.rows):
            return count
    return 1


def _blocks(table: Table, width: int) -> Iterator[str]:
    """Each row as lines of a name and a value, with an empty line between rows."""
    if table.title:
        title = in_line(table.title)
        yield title
        yield "-" * len(title)
    widest = max(width_of(column.name) for column in table.columns)
    for number, row in enumerate(table.rows):
        if number:
            yield ""
        for column, value in zip(table.columns, row, strict=True):
            if not is_unknown(value):
                yield from wrapped(column.text(value).strip(), width, f"{column.name:{widest}}  ")
