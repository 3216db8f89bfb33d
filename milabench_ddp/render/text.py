"""Blocks as plain text, for a terminal or a file."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from ..fitted import fitted_lines
from ..visible import in_line
from ..wrapped import underlined, width_of, wrapped
from . import blocks as of

WIDTH = 100  # columns, where no terminal says how many it has
LABEL = 8  # columns of the names of facts, and of the labels of findings
BETWEEN = "  "  # columns


def text_of(blocks: Iterable[of.Block], width: int = WIDTH) -> str:
    """Lines of at most ``width`` columns; words that are wider, such as paths, stay whole."""
    return "\n".join(_lines(blocks, width)) + "\n"


def _lines(blocks: Iterable[of.Block], width: int) -> Iterator[str]:
    is_first = True
    for block in blocks:
        lines = list(_block(block, width))
        if lines and isinstance(block, of.Section) and not is_first:
            yield ""
        yield from lines
        is_first = is_first and not lines


def _block(block: of.Block, width: int) -> Iterator[str]:
    match block:
        case of.Headline(title, text):
            yield from wrapped(": ".join(filter(None, (title, text))), width)
        case of.Fact(name, texts):
            for place, text in enumerate(texts):
                yield from wrapped(text, width, f"{'' if place else name:{LABEL}} ")
        case of.Line(text, first, rest):
            yield from wrapped(text, width, first, rest)
        case of.Caption(text):
            yield f"{in_line(text)}:"
        case of.Bullet(text):
            yield from wrapped(text, width, rest="  ")
        case of.Findings(label, sentences, in_columns=True):
            yield from _side_by_side(label, sentences, width)
        case of.Findings(label, sentences, advice):
            head = f"{label:{LABEL}} "
            for sentence in sentences:
                yield from wrapped(sentence, width, head)
            if advice:
                yield from wrapped(advice, width, f"{' ' * len(head)}-> ")
        case of.TableBlock(table, stay, is_ruled):
            yield from fitted_lines(table, width, ruled=is_ruled, stay=stay)
        case of.Code(lines):
            for line in lines:
                said = line.lstrip()
                yield from wrapped(said, width, " " * (4 + len(line) - len(said)))
        case of.Section(inside, title):
            lines = tuple(_lines(inside, width))
            yield from underlined(title) if lines else ()
            yield from lines


def _side_by_side(label: str, sentences: Sequence[str], width: int) -> Iterator[str]:
    from rich.cells import set_cell_size  # seldom needed

    room = (width - LABEL - 1 - len(BETWEEN)) // 2
    cells = [
        cell if width_of(cell) <= room else f"{set_cell_size(cell, room - 3)}..."
        for cell in map(in_line, sentences)
    ]
    count = (len(cells) + 1) // 2
    for place, (left, right) in enumerate(zip_longest(cells[:count], cells[count:], fillvalue="")):
        head = f"{'' if place else label:{LABEL}} {set_cell_size(left, room)}"
        yield f"{head}{BETWEEN}{right}".rstrip()
