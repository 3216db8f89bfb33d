"""Progress on a terminal: a live table of what runs, below lines for what has ended."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from ..events import Event, Outcome, Verdict
from ..table import Column, Table, text_lines, without_unknown
from .model import RunningBenchmark, RunProgress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_COLUMNS = (
    Column("benchmark"),
    Column("phase"),
    Column("rate", right=True),
    Column("loss", right=True),
    Column("load", ".0%"),
    Column("elapsed", right=True),
    Column("nodes"),
)
_OTHERS = 50  # characters of a full row between the name and the nodes
_OUTCOME_STYLES = {Outcome.OK: "green", Outcome.CANCELLED: "yellow", Outcome.SKIPPED: "dim"}


class LiveProgress:
    """What runs, as a picture that `live_progress` draws; what has ended is a line above it.

    The picture is made in the thread that draws it, and what is told comes from another.
    """

    def __init__(
        self, console: "Console", total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._total = console, total
        self._known = RunProgress(clock)
        self._lock = Lock()  # on what is known; never held while the console is written to

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """A benchmark starts."""
        with self._lock:
            self._known.begin(name, nodes, limit)

    def event(self, event: Event) -> None:
        """Something happened."""
        with self._lock:
            self._known.take(event)

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended."""
        with self._lock:
            line = self._known.end(name, verdict)
        self._print(line, _OUTCOME_STYLES.get(verdict.outcome, "red"))

    def message(self, text: str) -> None:
        """Anything else."""
        self._print(text, "dim")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        line = Text(f"{time.strftime('%H:%M:%S')} {text}", style)
        self._console.print(line, soft_wrap=True)

    def picture(self) -> "Text":
        """A table of what runs, as much as the terminal has room for, and the sum below it."""
        from rich.text import Text

        width, height = self._console.size
        room = max(1, height - 3)  # beside the header, the sum, and the line of the cursor
        with self._lock:
            lines = [self._known.summary(self._total)]
            if self._known.running:
                running = list(self._known.running.values())[:room]
                lines[:0] = text_lines(_running_table(running, self._known.clock(), width), "  ")
        text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
        text.stylize("bold", 0, len(lines[0]))
        return text


@contextmanager
def live_progress(total: int) -> Iterator[LiveProgress]:
    """Show the progress of ``total`` benchmarks on the terminal of stderr.

    It is drawn once a second, by a thread of rich's: drawing must never compete with what is
    measured.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    live = LiveProgress(console, total)
    with Live(console=console, refresh_per_second=1, transient=True, get_renderable=live.picture):
        yield live


def _running_table(benchmarks: Sequence[RunningBenchmark], now: float, width: int) -> Table:
    """What runs, for a terminal of this width, without columns in which nothing is known."""
    rows = []
    for each in benchmarks:
        title = _shortened(each.title, max(12, width - _OTHERS))
        elapsed = f"{now - each.repeat_began:.0f} of {each.limit:.0f} s"
        nodes = _first_and_last(each.nodes)
        rows.append((title, each.phase, each.rate, each.loss, each.load, elapsed, nodes))
    return without_unknown(Table(_COLUMNS, tuple(rows)))


def _shortened(name: str, width: int) -> str:
    """A name without its middle, where it is longer: the names of a sweep differ in their ends."""
    if len(name) <= width:
        return name
    half = (width - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _first_and_last(nodes: Sequence[str]) -> str:
    """All names, or the first and the last of many."""
    if len(nodes) <= 4:
        return ", ".join(nodes)
    return f"{nodes[0]} .. {nodes[-1]} ({len(nodes)})"
