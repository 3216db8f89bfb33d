"""A table as lines of a given width: it gives up first what costs its reader least."""

from collections.abc import Iterator, Sequence

from .table import Table, cells_of, is_unknown, laid_out, widths_of
from .wrapped import underlined, width_of, wrapped

WIDEST_TEXT = 0.3  # of the width, for a column of texts
NARROWEST_TEXT = 16  # columns
Cells = list[list[str]]  # the header, then the rows


def fitted_lines(
    table: Table, width: int, *, ruled: bool = False, stay: Sequence[str] = ()
) -> Iterator[str]:
    """A table in lines that are at most ``width`` wide, whatever is in it.

    If it is wider, columns that show the same in all rows are told below, and texts are wrapped
    in their cells; with several columns of long texts, each row becomes a block of lines. What is
    still too wide comes in parts, one below the other, or leaves out columns.

    Args:
        width: in columns of the terminal.
        ruled: whether to put dashes below the header, and only blanks between columns.
        stay: names of columns, in the order in which they stay if not all have room; what is left
            out is told below. Empty: none is left out, and the table comes in parts.
    """
    between = 2 if ruled else 3
    cells, notes = cells_of(table), list(table.notes)
    kept = list(range(len(table.columns)))
    if _width(widths_of(cells), kept, between) > width and len(table.rows) > 1:
        alike = [k for k in kept[1:] if len({row[k] for row in cells[1:]}) == 1]
        told = [f"{cells[0][k]} {cells[1][k]}" for k in alike if cells[1][k]]
        notes += [f"(in all rows: {', '.join(told)})"] if told else []
        kept = [k for k in kept if k not in alike]
    parts, widths = [kept], widths_of(cells)
    needed = _width(widths, kept, between)
    if needed > width:
        widest = max(NARROWEST_TEXT, int(WIDEST_TEXT * width))
        texts = [k for k in kept if widths[k] > widest and not table.columns[k].stands_right]
        rooms = dict.fromkeys(texts, widest)
        if texts:  # the last one takes what is left
            of_others = needed - sum(widths[k] for k in texts) + widest * (len(texts) - 1)
            rooms[texts[-1]] = max(widest, width - of_others)
        if len(texts) > 1 and not stay:
            yield from _blocks(table, kept, width)
            parts = []
        elif stay:
            cells = _wrapped(cells, rooms)
            parts = [_first(cells, kept, width, between, stay)]
            left_out = [cells[0][k] for k in kept if k not in parts[0]]
            if left_out:
                notes.append(f"(left out: {', '.join(left_out)}; --width {needed} shows all)")
        else:
            cells = _wrapped(cells, rooms)
            parts = list(_parts(cells, kept, width, between))
    for number, part in enumerate(parts):
        yield from [""] if number else underlined(table.title)
        columns = [table.columns[k] for k in part]
        shown = [[row[k] for k in part] for row in cells]
        yield from laid_out(columns, shown, "  " if ruled else " | ", ruled=ruled)
    for note in notes:
        yield from wrapped(note, width, rest=" ")


def _width(widths: Sequence[int], places: Sequence[int], between: int) -> int:
    return sum(widths[k] for k in places) + between * (len(places) - 1)


def _wrapped(cells: Cells, rooms: dict[int, int]) -> Cells:
    made = [list(row) for row in cells]
    for row in made[1:]:
        for place, room in rooms.items():
            row[place] = "\n".join(wrapped(row[place], room, cut=True))
    return made


def _first(
    cells: Cells, places: Sequence[int], width: int, between: int, stay: Sequence[str]
) -> list[int]:
    """The columns that fit, those of ``stay`` first, but for the first, which always stays."""
    widths = widths_of(cells)
    order = {name: place for place, name in enumerate(stay)}
    kept = [places[0]]
    for place in sorted(places[1:], key=lambda k: order.get(cells[0][k], len(order))):
        if _width(widths, [*kept, place], between) <= width:
            kept.append(place)
    return sorted(kept)


def _parts(cells: Cells, places: Sequence[int], width: int, between: int) -> Iterator[list[int]]:
    """The columns in parts that fit; each begins with those that tell the rows apart."""
    widths = widths_of(cells)
    keys = list(places[:1])
    for count in range(1, len(places)):
        first = list(places[:count])
        if _width(widths, first, between) > width / 2:
            break
        if len({tuple(row[k] for k in first) for row in cells[1:]}) == len(cells) - 1:
            keys = first
            break
    part = list(keys)
    for place in places[len(keys) :]:
        if _width(widths, [*part, place], between) > width and len(part) > len(keys):
            yield part
            part = list(keys)
        part.append(place)
    yield part


def _blocks(table: Table, places: Sequence[int], width: int) -> Iterator[str]:
    yield from underlined(table.title)
    widest = max(width_of(table.columns[k].name) for k in places)
    for number, row in enumerate(table.rows):
        yield from [""] if number else []
        for place in places:
            column, value = table.columns[place], row[place]
            if not is_unknown(value):
                yield from wrapped(column.text(value).strip(), width, f"{column.name:{widest}}  ")
