"""What a person sees of a sweep: nothing, a live view on a terminal, or plain lines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..dispatch.onlooker import Onlooker, PlainOnlooker, QuietOnlooker
from ..display.sweep import LiveSweep

GOES_ON = "no longer watched; it goes on: `milabench watch {0}`"


@contextmanager
def onlooker(points: int, *, quiet: bool) -> Iterator[Onlooker]:
    """On stderr, for stdout has the report."""
    if quiet:
        yield QuietOnlooker()
    elif sys.stderr.isatty():
        from rich.console import Console

        with LiveSweep(Console(stderr=True), points) as live:
            yield live
    else:
        yield PlainOnlooker(sys.stderr)
