"""Progress on a terminal: a line for each ended benchmark, and a live table of the running ones."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from ..events import Event, Outcome, Verdict
from ..table import Column, Table, text_lines, without_unknown
from .run_progress import RunningBenchmark, RunProgress

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
    """Makes the live table of running benchmarks, and prints a line above it for each ended one.

    `live_progress` draws the table in a thread of its own; the observer's methods are called from
    another thread.
    """

    def __init__(
        self, console: "Console", total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console, self._total = console, total
        self._known = RunProgress(clock)
        self._lock = Lock()  # of ``_known``; never held while the console is written to

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        """A benchmark starts."""
        with self._lock:
            self._known.begin(name, nodes, limit, ago)

    def event(self, event: Event) -> None:
        """Take an event into the table."""
        with self._lock:
            self._known.take(event)

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended: print a line."""
        with self._lock:
            line = self._known.end(name, verdict)
        self._print(line, _OUTCOME_STYLES.get(verdict.outcome, "red"))

    def message(self, text: str) -> None:
        """Print any other message."""
        self._print(text, "dim")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        line = Text(f"{time.strftime('%H:%M:%S')} {text}", style)
        self._console.print(line, soft_wrap=True)

    def picture(self) -> "Text":
        """The table of running benchmarks, cut to the height of the terminal, and the summary."""
        from rich.text import Text

        width, height = self._console.size
        room = max(1, height - 3)  # lines, without the header, the summary, and the cursor's line
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

    A thread of rich draws it only once a second: drawing must not compete with the measured
    programs.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    live = LiveProgress(console, total)
    with Live(console=console, refresh_per_second=1, transient=True, get_renderable=live.picture):
        yield live


def _running_table(benchmarks: Sequence[RunningBenchmark], now: float, width: int) -> Table:
    """The running benchmarks, for a terminal of this width, without columns that are empty."""
    rows = []
    for each in benchmarks:
        title = _shortened(each.title, max(12, width - _OTHERS))
        elapsed = f"{now - each.repeat_began:.0f} of {each.limit:.0f} s"
        nodes = _first_and_last(each.nodes)
        rows.append((title, each.phase, each.rate, each.loss, each.load, elapsed, nodes))
    return without_unknown(Table(_COLUMNS, tuple(rows)))


def _shortened(name: str, width: int) -> str:
    """A name without its middle if it is longer: the names of a sweep differ in their ends."""
    if len(name) <= width:
        return name
    half = (width - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def _first_and_last(nodes: Sequence[str]) -> str:
    """All names, or the first and the last of many."""
    if len(nodes) <= 4:
        return ", ".join(nodes)
    return f"{nodes[0]} .. {nodes[-1]} ({len(nodes)})"
