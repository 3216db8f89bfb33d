"""Ordinary metric lines, many at once: JSON objects with nothing in them that needs a closer look.

Most lines of a run are of this kind. They are checked in C, and are not built up as objects of
Python but for the few values that a supervisor and a display look at. So a flood of lines costs the
programs beside it little. Any other line is read by itself, with ``json``.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import msgspec

T = TypeVar("T")
LARGEST = 1e100  # the squares of such numbers can still be added up
LARGEST_RANK = 2**31  # and more than any
_Unset = msgspec.UnsetType
_Rate = Annotated[float, msgspec.Meta(gt=1 / LARGEST, lt=LARGEST)]
_Rank = Annotated[int, msgspec.Meta(ge=0, lt=LARGEST_RANK)]
_Never = Literal["\0"]  # no program tells this: a line with such a key is no ordinary one


class MetricLine(msgspec.Struct, gc=False, frozen=True):
    """What an ordinary line tells; ``UNSET`` where it does not. Its rate, if any, can be used."""

    rate: _Rate | _Unset = msgspec.UNSET
    task: str | _Unset = msgspec.UNSET
    units: str | _Unset = msgspec.UNSET
    rank: _Rank | _Unset = msgspec.UNSET
    warmup: bool | _Unset = msgspec.UNSET
    loss: float | _Unset = msgspec.UNSET
    other_event: _Never | _Unset = msgspec.field(name="$event", default=msgspec.UNSET)
    older_rate: _Never | _Unset = msgspec.field(name="train_rate", default=msgspec.UNSET)
    # what only we write: ``events.OWN_KEYS``
    device_samples: _Never | _Unset = msgspec.field(name="gpudata", default=msgspec.UNSET)
    host_samples: _Never | _Unset = msgspec.field(name="hostdata", default=msgspec.UNSET)
    arrival: _Never | _Unset = msgspec.field(name="arrived", default=msgspec.UNSET)


_DECODER = msgspec.json.Decoder(MetricLine)
_WINDOW = 1 << 11  # bytes; in lines of at most twice as many, no number is too long for ``json``
_MOST_NESTED = 60  # lists and objects in a window, but for a line's own: none is deeper than 180


def ordinary_lines(text: bytes) -> Sequence[MetricLine]:
    """What lines tell, one for each; empty unless each of them is an ordinary one.

    They are then ASCII, and each is an object that begins with ``{`` and ends with ``}``: so it
    can be written to a file as it is.

    Args:
        text: whole lines.
    """
    if not text.isascii() or b"\r" in text or _has_long_line(text):
        return ()
    return objects_in(text, _DECODER)


def objects_in(text: bytes, decoder: msgspec.json.Decoder[T], usual: bytes = b"{") -> list[T]:
    """The objects of lines, one for each; empty unless each line is an object, and no deep one.

    Args:
        text: whole lines.
        usual: with what most lines begin.
    """
    # Between a line that ends with `}` and one that begins with `{`, no object goes on: so as many
    # objects as lines are one in each.
    count = text.count(b"\n")
    if not (text.startswith(b"{") and text.endswith(b"}\n")):
        return []
    regular = text.count(b"}\n" + usual)
    if regular < count - 1 and text.count(b"}\n{") < count - 1:
        return []
    nested = text.count(b"{") + text.count(b"[") - count
    nested -= regular * (usual.count(b"{") - 1)
    if nested > _MOST_NESTED and _may_be_deep(text):
        return []
    try:
        lines = decoder.decode_lines(text)
    except (ValueError, RecursionError):
        return []
    return lines if len(lines) == count else []


def _has_long_line(text: bytes) -> bool:
    starts = range(0, len(text), _WINDOW)
    return any(text.find(b"\n", start, start + _WINDOW) < 0 for start in starts)


def _may_be_deep(text: bytes) -> bool:
    """Whether a line may be nested deeply: one that is touches three windows at most."""
    for start in range(0, len(text), _WINDOW):
        window = text[start : start + _WINDOW]
        nested = window.count(b"{") + window.count(b"[") - window.count(b"\n")
        if nested > _MOST_NESTED:
            return True
    return False
