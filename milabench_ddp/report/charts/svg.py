"""The elements of an SVG, as text that is always well-formed."""

import math
import re
from collections.abc import Iterable
from html import escape

from msgspec import Struct

from ...hidden import SECRETS
from ...visible import visible
from ...wrapped import width_of

SIZE = 13.0  # of the text
USUAL = 0.6  # the width of a character relative to its height: that of a wide font
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Place = tuple[float, float]


class Drawing(Struct, frozen=True):
    """The elements of a chart, and how high it is."""

    height: float
    elements: tuple[str, ...]


def number(value: float) -> str:
    """A coordinate, to a tenth.

    Raises:
        ValueError: it is not finite: nothing can be drawn there.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no place in a drawing")
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def clean(words: str) -> str:
    """The words with a replacement for characters that XML does not keep, or that are invisible."""
    return _NOT_XML.sub("\ufffd", visible(SECRETS.hide(words)))


def text(words: str) -> str:
    """The words as what is inside an element."""
    return escape(clean(words))


def element(name: str, *inside: str, **attributes: str | float) -> str:
    """An element; ``class_`` is the attribute ``class``, and ``stroke_width`` ``stroke-width``.

    Args:
        name: of the element.
        inside: elements, or what ``text`` makes of words.
        attributes: texts, which are escaped here and left out if empty, or coordinates.
    """
    words = [name]
    for key, value in attributes.items():
        if value != "":
            shown = escape(clean(value)) if isinstance(value, str) else number(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    head = " ".join(words)
    return f"<{head}>{''.join(inside)}</{name}>" if inside else f"<{head}/>"


def label(words: str, x: float, y: float, class_: str = "", anchor: str = "") -> str:
    """A line of text.

    Args:
        words: the text.
        x: the place of its anchor.
        y: of its base line.
        class_: of its style.
        anchor: the part of the text that is at x: its start, or ``middle`` or ``end``.
    """
    return element("text", text(words), x=x, y=y, class_=class_, text_anchor=anchor)


def path(*parts: str | float) -> str:
    """The text of a path from its commands and coordinates: ``path("M", 1, 2, "h", 3)``."""
    drawn = ""
    for part in parts:
        if isinstance(part, str):
            drawn += part
        elif drawn[-1:].isdigit():
            drawn += f" {number(part)}"
        else:
            drawn += number(part)
    return drawn


def line(places: Iterable[Place]) -> str:
    """A line through places, as the text of a path; empty without any."""
    drawn = "L".join(path(x, y) for x, y in places)
    return drawn and f"M{drawn}"


def box(x: float, y: float, width: float, height: float) -> str:
    """A rectangle, as the text of a path."""
    return path("M", x, y, "h", width, "v", height, "h", -width, "z")


def text_width(words: str) -> float:
    """About how wide words are as they are shown, in whatever font: rather more than less."""
    return SIZE * (USUAL * width_of(visible(words)))


def widest(texts: Iterable[str]) -> float:
    """The width of the widest of some words; 0 without any."""
    return max(map(text_width, texts), default=0.0)


def shortened(words: str, room: float) -> str:
    """The words with an ellipsis in the middle where they are wider than the room."""
    if text_width(words) <= room:
        return words
    for kept in range(min(len(words) - 1, int(room / SIZE / USUAL)), 1, -1):
        cut = f"{words[: (kept + 1) // 2]}…{words[len(words) - kept // 2 :]}"
        if text_width(cut) <= room:
            return cut
    return f"{words[:1]}…"
