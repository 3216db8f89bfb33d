"""Places, paths and the widths of texts in a drawing."""

from collections.abc import Iterable

from markupsafe import Markup
from msgspec import Struct

from ...render.html import place
from ...visible import visible
from ...wrapped import width_of

SIZE = 13.0  # of the text
# The widths of characters relative to the size of the text: those of DejaVu Sans, which is wider
# than the fonts of other systems. Others count as 1 for each column that they take in a terminal.
_WIDTHS = {
    0.3: "'Iijl",
    0.36: " ,-./:;\\f|·",
    0.42: "!()[]rt",
    0.55: '"*?J_`csz°',
    0.64: "$0123456789EFLPSTYabdeghknopquvxy{}µéü",
    0.7: "ABCKRVXZ",
    0.84: "#&+<=>DGHNOQU^w~±←→≤≥",
}
WIDTHS = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
Place = tuple[float, float]


class Drawing(Struct, frozen=True):
    """The elements of a chart, and how high it is."""

    height: float
    svg: Markup


def line(places: Iterable[Place]) -> str:
    drawn = "L".join(f"{place(x)} {place(y)}" for x, y in places)
    return drawn and f"M{drawn}"


def box(x: float, y: float, width: float, height: float) -> str:
    return f"M{place(x)} {place(y)}h{place(width)}v{place(height)}h{place(-width)}z"


def text_width(words: str) -> float:
    """About how wide words are as they are shown, in whatever font: rather more than less."""
    return SIZE * sum(WIDTHS.get(letter) or width_of(letter) for letter in visible(words))


def widest(texts: Iterable[str]) -> float:
    return max(map(text_width, texts), default=0.0)


def shortened(words: str, room: float) -> str:
    """The words with an ellipsis in the middle where they are wider than the room."""
    if text_width(words) <= room:
        return words
    for kept in range(min(len(words) - 1, int(room / SIZE / min(_WIDTHS))), 1, -1):
        cut = f"{words[: (kept + 1) // 2]}…{words[len(words) - kept // 2 :]}"
        if text_width(cut) <= room:
            return cut
    return f"{words[:1]}…"
