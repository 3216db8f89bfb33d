"""Shows the progress of a run: as a live table on a terminal, as plain lines, or not at all."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..progress import NoProgress, ProgressObserver
from .live import live_progress
from .run_progress import PlainProgress


@contextmanager
def show_progress(total: int, *, quiet: bool) -> Iterator[ProgressObserver]:
    """Show the progress of ``total`` benchmarks on stderr, because stdout has the report."""
    if quiet:
        yield NoProgress()
    elif sys.stderr.isatty():
        with live_progress(total) as live:
            yield live
    else:
        yield PlainProgress(sys.stderr)
