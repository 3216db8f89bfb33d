"""Lines of a given width, in the columns of a terminal: some characters take two, some none."""

import re
from collections.abc import Iterator

from .visible import in_line, visible

NARROW = "\u0300"  # below it each character takes one column
# A word; what stands between backquotes is a command, and stays together.
_WORD = re.compile(r"(?:`[^`\n]{1,60}`|\S)+")


def width_of(text: str) -> int:
    if text.isascii() or max(text) < NARROW:
        return len(text)
    # imported here because few texts need it, and it takes long to import
    from rich.cells import cell_len

    return cell_len(text)


def pieces(text: str, width: int) -> list[str]:
    """A text cut into pieces that are at most ``width`` wide, if possible behind a ``-`` or so."""
    if width_of(text) <= width:
        return [text]
    if text.isascii():
        most = f"{{{(width + 1) // 2},{width}}}"
        return re.findall(rf".{{1,{width}}}$|.{most}(?<=[-_/.,=:])|.{{1,{width}}}", text, re.DOTALL)
    from rich.cells import chop_cells

    return chop_cells(text, width)


def wrapped(
    text: str, width: int, first: str = "", rest: str | None = None, *, cut: bool = False
) -> Iterator[str]:
    """A text in lines that are at most ``width`` wide, broken between words.

    A word that is wider, such as a path or a command, has a line of its own and stays whole, so
    that it can be pasted; where characters are wide, text has no blanks, and is broken anywhere.
    What cannot be seen is shown by its number.

    Args:
        width: in columns.
        rest: stands before the others; None: as many blanks as ``first`` is wide.
    """
    text = visible(text)
    if "\n" not in text and width_of(first + text) <= width:
        yield (first + text).rstrip()
        return
    rest = " " * width_of(first) if rest is None else rest
    line, is_empty = first, True
    for word in _words(text, max(1, width - width_of(rest)), cut=cut):
        longer = line + word if is_empty else f"{line} {word}"
        if not is_empty and width_of(longer) > width:
            yield line.rstrip()
            longer = rest + word
        line, is_empty = longer, False
    yield line.rstrip()


def _words(text: str, room: int, *, cut: bool) -> Iterator[str]:
    for word in _WORD.findall(text):
        if cut or width_of(word) > len(word):
            yield from pieces(word, room)
        else:
            yield word


def underlined(title: str) -> Iterator[str]:
    """A title with a line of dashes below it; nothing if it is empty."""
    if title:
        title = in_line(title)
        yield title
        yield "-" * len(title)
