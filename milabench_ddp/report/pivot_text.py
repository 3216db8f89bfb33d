"""The table of a sweep as text for people, and as CSV for spreadsheets."""

import csv
import io
import math
import re
from collections.abc import Iterator

from .pivot import Block, Cell, Pivot
from .settings import NOTHING
from .skipped import by_reason, some

GAP = "  "
_PLACE = re.compile(r" \([^()]*:\d+\)$")


def pivot_text(made: Pivot) -> str:
    """What is shown, the blocks, and below them in numbered notes what a cell had no room for."""
    notes: dict[str, int] = {}
    lines = [f"{made.metric}: {made.meaning}"]
    for block in made.blocks:
        lines += ["", *([f"{block.title}:"] if block.title else []), *_block(made, block, notes)]
    if notes:
        lines += ["", *(f"[{number}] {note}" for note, number in notes.items())]
    if made.skipped:
        lines += ["", *_skipped(made)]
    return "\n".join(lines) + "\n"


def _skipped(made: Pivot) -> Iterator[str]:
    """A line for each reason; where it stands in the configuration is in the text report."""
    for why, names in by_reason((name, _PLACE.sub("", why)) for name, why in made.skipped):
        yield f"skipped: {some(names)}: {why}"


def _block(made: Pivot, block: Block, notes: dict[str, int]) -> Iterator[str]:
    corner = made.corner[0] if block.title else made.between.join(made.corner)
    grid = [(corner, *made.columns)]
    for label in block.rows:
        cells = (block.cells.get((label, column)) for column in made.columns)
        grid.append((made.between.join(filter(None, label)), *(_shown(c, notes) for c in cells)))
    widths = [max(map(len, texts)) for texts in zip(*grid, strict=True)]
    for k, (label_text, *texts) in enumerate(grid):
        right = (text.rjust(width) for text, width in zip(texts, widths[1:], strict=True))
        yield GAP.join([label_text.ljust(widths[0]), *right]).rstrip()
        if not k:
            yield GAP.join("-" * width for width in widths)


def _shown(cell: Cell | None, notes: dict[str, int]) -> str:
    if cell is None:
        return NOTHING
    if not cell.note:
        return cell.text
    return f"{cell.text} [{notes.setdefault(cell.note, len(notes) + 1)}]"


def pivot_csv(made: Pivot) -> str:
    """A line for each row of each block, at full precision; a state where there is no value.

    Where values have spreads, each column is followed by one of them.
    """
    spreads = any(cell.spread >= 0 for block in made.blocks for cell in block.cells.values())
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [head for c in made.columns for head in (c, *([f"{c}_spread"] if spreads else []))]
    writer.writerow([*([made.titles] if made.titles else []), *made.corner, *heads])
    for block in made.blocks:
        for label in block.rows:
            values: list[object] = [*([block.title] if made.titles else []), *label]
            for column in made.columns:
                cell = block.cells.get((label, column), Cell(NOTHING, math.nan))
                values.append(cell.value if math.isfinite(cell.value) else cell.text)
                if spreads:
                    values.append(cell.spread if math.isfinite(cell.spread) else "")
            writer.writerow(values)
    return out.getvalue()
