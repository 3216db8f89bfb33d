"""Progress on a terminal: a live table of what runs, below lines for what has ended."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..config.schema import Benchmark
from ..events import Event, Outcome, Verdict
from ..plan.launch import Launch
from ..table import Column, Table, text_lines, without_unknown
from .model import RunningBenchmark, RunProgress
from .progress import Progress, rate_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
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
    half = (width - 1) // 2
    return name if len(name) <= width else f"{name[:half]}…{name[-half:]}"


def _first_and_last(nodes: Sequence[str]) -> str:
    """All names, or the first and the last of many."""
    return ", ".join(nodes) if len(nodes) <= 4 else f"{nodes[0]} .. {nodes[-1]} ({len(nodes)})"


_REFRESH = 0.25  # seconds; drawing must never compete with what is measured
_STYLES = {Outcome.OK: "green", Outcome.CANCELLED: "yellow", Outcome.SKIPPED: "dim"}


class LiveDisplay:
    """A table, drawn anew at most four times a second by the thread that runs the launch."""

    def __init__(self, console: "Console", names: Sequence[str]) -> None:
        from rich.live import Live

        self._console = console
        self._rows: dict[str, tuple[str, ...]] = dict.fromkeys(names, ("waiting",))
        self._styles: dict[str, str] = dict.fromkeys(names, "dim")
        self._began: dict[str, float] = {}
        self._now: Progress | None = None
        self._drawn = 0.0
        self._ended = False
        self._live = Live(console=console, auto_refresh=False, get_renderable=self._table)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended = True  # the whole table stays on the screen
        self._live.stop()

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        """A launch is about to start."""
        self._now = Progress(benchmark, launch, time.monotonic())
        self._began.setdefault(benchmark.name, self._now.began)
        self._styles[benchmark.name] = "bold"
        self._draw()

    def see(self, event: Event) -> None:
        """Something happened."""
        if self._now is not None:
            changed = self._now.see(event)
            if changed or time.monotonic() - self._drawn > _REFRESH:
                self._draw()

    def tick(self) -> None:
        """Let the elapsed time go on."""
        self._draw()

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        """A benchmark has ended: its row stays as it is."""
        self._draw()
        self._now = None
        phase = outcome if not reason else f"{outcome}: {reason}"
        began = self._began.get(benchmark.name)
        elapsed = "" if began is None else f"{time.monotonic() - began:.0f} s"
        last = self._rows[benchmark.name]
        self._rows[benchmark.name] = (phase, *(last[1:4] or ("", "", "")), elapsed)
        self._styles[benchmark.name] = _STYLES.get(outcome, "red")
        self._draw()

    def _draw(self) -> None:
        if self._now is not None:
            self._rows[self._now.benchmark.name] = _cells(self._now, time.monotonic())
        self._drawn = time.monotonic()
        self._live.refresh()

    def _table(self) -> "RichTable":
        from rich.table import Table
        from rich.text import Text

        table = Table(
            "benchmark", "phase", "rate", "loss", "load", "elapsed", box=None, pad_edge=False
        )
        for name in self._in_sight():
            cells = (Text(cell) for cell in (name, *self._rows[name]))
            table.add_row(*cells, style=self._styles[name])
        return table

    def _in_sight(self) -> list[str]:
        """All rows, or as many as the terminal has room for, the running one among them."""
        names = list(self._rows)
        room = max(1, self._console.height - 2)
        if len(names) <= room or self._ended:
            return names
        running = names.index(self._now.benchmark.name) if self._now else 0
        first = min(max(0, running - room // 2), len(names) - room)
        return names[first : first + room]


def _cells(progress: Progress, now: float) -> tuple[str, ...]:
    elapsed, limit = now - progress.began, progress.benchmark.max_duration
    repeat = progress.launch.repeat
    return (
        progress.phase if repeat is None else f"R{repeat} {progress.phase}",
        rate_text(progress.rate, progress.unit),
        "" if progress.loss is None else f"{progress.loss:.4g}",
        "" if progress.load is None else f"{progress.load:.0%}",
        f"{elapsed:.0f} of {limit:.0f} s",
    )
