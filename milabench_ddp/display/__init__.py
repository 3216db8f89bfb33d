"""Shows the progress of a run: as a live view on a terminal, as plain lines, or not at all."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..progress import ContainedProgress, NoProgress, ProgressObserver
from .live import live_progress
from .outline import Outline
from .plain import PlainProgress
from .screen_thread import ScreenThread, own_stderr

NO_CURSOR = ("dumb", "unknown")  # values of TERM: a terminal on which nothing can be drawn again


@contextmanager
def show_progress(outline: Outline, *, quiet: bool) -> Iterator[ProgressObserver]:
    """Show the progress of a run on stderr, because stdout has the report."""
    if quiet:
        yield NoProgress()
    elif not outline.side and sys.stderr.isatty() and os.environ.get("TERM", "") not in NO_CURSOR:
        with live_progress(outline) as live:
            yield ContainedProgress(live)
    else:
        stream, screen = own_stderr(), ScreenThread()
        with screen.running(stream):
            yield ContainedProgress(PlainProgress(stream, outline, put=screen.put))
