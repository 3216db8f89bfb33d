"""Standard output and error without secrets, and with invisible characters as their numbers.

So no text of a program, a configuration or a file can change what a terminal shows.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from .hidden import GIVEN, SECRETS
from .visible import visible

NO_CURSOR = ("dumb", "unknown")  # values of TERM: a terminal on which nothing can be drawn again


def is_drawn_on(out: TextIO) -> bool:
    return out.isatty() and os.environ.get("TERM", "") not in NO_CURSOR


def has_colours(out: TextIO) -> bool:
    """Whether colours are shown, and wanted: see https://no-color.org."""
    return is_drawn_on(out) and not os.environ.get("NO_COLOR")


class _Shown:
    """A stream that makes its texts safe to show; all else is passed to the stream behind it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        self._out.write(visible(SECRETS.hide(text)))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._out, name)


def behind(out: TextIO) -> TextIO:
    """The stream behind it, for drawings with escapes, which make their texts safe themselves."""
    return out._out if isinstance(out, _Shown) else out


@contextmanager
def shown_output() -> Iterator[None]:
    """Show what is written to standard output and error; learn the secrets of the environment."""
    SECRETS.learn_environ(os.environ)
    os.environ.pop(GIVEN, None)  # programs get what is theirs by other names
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _Shown(out)) for out in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
