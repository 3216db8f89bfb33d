"""Progress on a terminal: one live table of all benchmarks of the run."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..config.schema import Benchmark
from ..events import Event, Outcome
from ..plan.command import Launch
from .progress import Progress, rate_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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

    def _table(self) -> "Table":
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
