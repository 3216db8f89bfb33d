"""Standard output and error as they are shown: without secrets, and with all that cannot be seen.

So nothing that a program, a configuration or a file says can change what a terminal shows.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from .hidden import GIVEN, SECRETS
from .visible import visible


class _Shown:
    """A stream whose texts are shown; all else is that of the stream behind it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        """Write a text."""
        self._out.write(visible(SECRETS.hide(text)))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)


def behind(out: TextIO) -> TextIO:
    """The stream for what draws with a terminal's escapes, and shows its texts itself."""
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
