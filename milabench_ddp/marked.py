"""Text and tables as Markdown, as GitHub and GitLab read it; any text comes out as it went in."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from .hidden import SECRETS
from .table import Table
from .visible import visible

# What ends a line.
_BLANK = re.compile(r"[ \t]*(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])[ \t]*")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_NOTIFIES = re.compile(r"@(?=\w)")  # a person
# `_` within a word means nothing, and names of benchmarks are full of it. `@` notifies people, and
# `#` links an issue.
_MEANS_SOMETHING = re.compile(r"[\\`*\[\]|~&<>$]|(?<![^\W_])_|_(?![^\W_])|@(?=\w)|#(?=\d)")
# of a list, of a title, or what makes the line above a title
_BEGINS = re.compile(r"^(\d{1,9})([.)])(?=\s|$)|^([-+=]|#{1,6})(?=[-+=#\s]|$)")


def marked(text: str) -> str:
    """A text in a line of Markdown, in which none of its characters means anything.

    The ends of its lines become ``<br>``.
    """
    return _BEGINS.sub(r"\1\\\2\3", _within(text))


def _within(text: str) -> str:
    lines = map(visible, _BLANK.split(SECRETS.hide(text).strip()))
    return "<br>".join(_MEANS_SOMETHING.sub(_harmless, line) for line in lines)


def _harmless(found: re.Match[str]) -> str:
    character = found[0]
    if character in "@#":
        return f"{character}&#8203;"
    return _ENTITIES.get(character, f"\\{character}")


def code_block(lines: Sequence[str]) -> Iterator[str]:
    text = visible(SECRETS.hide("\n".join(lines)))
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield fence
    yield text
    yield fence


def folded(title: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines that a reader opens by a click on their title; nothing without lines."""
    if lines:
        yield "<details>"
        # up to the next empty line all is HTML, in which Markdown means nothing
        shown = visible(SECRETS.hide(" ".join(title.split())))
        shown = _NOTIFIES.sub(lambda found: f"{found[0]}&#8203;", escape(shown, quote=False))
        yield f"<summary>{shown}</summary>"
        yield ""
        yield from lines
        yield ""
        yield "</details>"


def table_lines(table: Table) -> Iterator[str]:
    yield _row(table.names)
    rules = ["--:" if column.stands_right else "---" for column in table.columns]
    yield f"| {' | '.join(rules)} |"
    for values in table.rows:
        yield _row([c.text(value) for c, value in zip(table.columns, values, strict=True)])
    for note in table.notes:
        yield ""
        yield marked(note)


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(map(_within, texts))} |"
