"""Blocks as Markdown for GitHub, which refuses what is too long."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from ..marked import code_block, folded, marked, table_lines
from . import blocks as of

ROOM = 60_000  # characters; GitHub takes 65,536
OF_LISTS = (of.Fact, of.Bullet, of.Findings)


def markdown_of(blocks: Iterable[of.Block]) -> str:
    """The blocks; folds come last, and those for which ``ROOM`` is too small are named."""
    blocks = list(blocks)
    folds = [block for block in blocks if isinstance(block, of.Fold)]
    text = "\n".join(_lines(block for block in blocks if block not in folds)) + "\n"
    left_out = []
    for fold in folds:
        lines = list(_lines(fold.inside))
        part = "\n".join(["", *folded(fold.title, lines)]) + "\n" if lines else ""
        if len(text) + len(part) > ROOM:
            left_out.append(fold.title)
        else:
            text += part
    if left_out:
        names = ", ".join(left_out)
        text += f"\n{marked(f'Left out, because a comment has no room for more: {names}.')}\n"
    return text


def _lines(blocks: Iterable[of.Block]) -> Iterator[str]:
    above: of.Block | None = None
    for block in blocks:
        lines = list(_block(block))
        is_of_list = isinstance(above, OF_LISTS) and isinstance(block, OF_LISTS)
        if lines and above is not None and not is_of_list:
            yield ""
        yield from lines
        above = block if lines else above


def _block(block: of.Block) -> Iterator[str]:
    match block:
        case of.Headline(title, text):
            yield f"### {marked(title)}"
            yield from ("", marked(text)) if text else ()
        case of.Fact(name, texts):
            for text in texts:
                yield f"- **{name}** {marked(text)}"
        case of.Line(text, first):
            yield marked(f"{first}{text}")
        case of.Caption(text):
            yield f"**{marked(text)}**"
        case of.Bullet(text):
            yield f"- {marked(text)}"
        case of.Findings(label, sentences, advice):
            for sentence in sentences:
                yield f"- **{label}** {marked(sentence)}"
            if advice:
                yield f"  - {marked(advice)}"
        case of.TableBlock(table):
            if table.title:
                yield from _block(of.Headline(table.title))
                yield ""
            yield from table_lines(replace(table, title=""))
        case of.Code(lines):
            yield from code_block(lines)
        case of.Section(inside):
            yield from _lines(inside)
