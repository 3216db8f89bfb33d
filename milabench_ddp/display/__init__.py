"""Shows the progress of a run: as a live view on a terminal, as plain lines, or not at all."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue

from ..progress import ProgressObserver
from ..shown_streams import is_drawn_on
from .plain import PlainProgress
from .run_progress import Outline
from .screen_thread import Jobs, own_stderr, write_in_thread


@contextmanager
def show_progress(outline: Outline, *, quiet: bool) -> Iterator[ProgressObserver]:
    """Show the progress of a run on stderr, because stdout has the report."""
    if quiet:
        yield ProgressObserver()
    elif not outline.side and is_drawn_on(sys.stderr):
        from .live import live_progress  # here: a job of Slurm needs the lines alone

        with live_progress(outline) as live:
            yield live
    else:
        stream = own_stderr()
        jobs: Jobs = SimpleQueue()
        with write_in_thread(stream, jobs):
            yield PlainProgress(stream, outline, put=jobs.put)
