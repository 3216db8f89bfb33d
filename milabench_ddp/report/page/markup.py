"""HTML from Python values: every text is escaped, once, where it enters the page."""

import re
from html import escape

from ...hidden import SECRETS
from ...visible import NUMBERS

_ESCAPED = NUMBERS | {ord(mark): escape(mark) for mark in "&<>\"'"}
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_.]+")
VOID = frozenset({"br", "input", "link", "meta"})  # elements without an end


class Html(str):
    """Text that is HTML already; any other text is escaped."""

    __slots__ = ()


def text(value: object) -> Html:
    """A value as text of the page; what cannot be seen in it is shown by its number."""
    if isinstance(value, Html):
        return value
    return Html(SECRETS.hide(str(value)).translate(_ESCAPED))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """An element.

    Args:
        name: of the element.
        children: HTML, or values that are shown as text.
        attributes: ``class_`` is ``class``, and ``data_of`` is ``data-of``; True has no value; of
            None and False there is no attribute.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        words.append(word if value is True else f'{word}="{text(value)}"')
    opened = Html(f"<{' '.join(words)}>")
    if name in VOID:
        return opened
    return Html(f"{opened}{joined(children)}</{name}>")


def joined(parts: "tuple[object, ...] | list[Html]", between: str = "") -> Html:
    """Parts of a page, one after another."""
    return Html(between.join(map(text, parts)))


def link(address: str, *children: object, **attributes: object) -> Html:
    """A link to a place of the same page, by its id."""
    return tag("a", *children, href=f"#{address}", **attributes)


class Anchors:
    """The ids of benchmarks on the page, whose names may be any text; each has its own."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The id of a benchmark's section; ``<id>--ranks`` is a place in it."""
        if name not in self._ids:
            plain = _NOT_IN_AN_ID.sub("-", name).strip("-")
            wanted = f"bench-{plain}" if plain else "bench"
            taken = set(self._ids.values())
            number = 2
            free = wanted
            while free in taken:
                free, number = f"{wanted}_{number}", number + 1
            self._ids[name] = free
        return self._ids[name]

    def __contains__(self, name: str) -> bool:
        return name in self._ids
