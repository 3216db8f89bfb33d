"""Progress of a sweep over several nodes, on a terminal: how many points, and those that run."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..events import Outcome

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_STYLES = {Outcome.OK: "green", Outcome.CANCELLED: "yellow"}


@dataclass(frozen=True)
class _Running:
    nodes: tuple[str, ...]
    limit: float
    since: float


class LiveSweep:
    """What runs now, drawn anew once a second; what has ended is a line above it, and stays."""

    def __init__(
        self, console: "Console", points: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Show the progress of as many points."""
        from rich.live import Live

        self._console, self._points, self._clock = console, points, clock
        self._running: dict[str, _Running] = {}
        self._ended: Counter[str] = Counter()
        self._live = Live(
            console=console, refresh_per_second=1, transient=True, get_renderable=self._drawn
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def begin(self, name: str, nodes: Sequence[str], limit: float) -> None:
        """A point starts on these nodes, for at most ``limit`` seconds."""
        self._running[name] = _Running(tuple(nodes), limit, self._clock())
        self._live.refresh()

    def end(self, name: str, outcome: str, reason: str) -> None:
        """A point has ended."""
        point = self._running.pop(name, None)
        self._ended[outcome] += 1
        took = "" if point is None else f" in {self._clock() - point.since:.1f} s"
        style = _STYLES.get(Outcome(outcome), "red")
        self._line(f"{name}: {outcome}{took}{f', {reason}' if reason else ''}", style)

    def say(self, text: str) -> None:
        """Anything else."""
        self._line(text, "dim")

    def _line(self, text: str, style: str) -> None:
        from rich.text import Text

        self._console.print(Text(f"{time.strftime('%H:%M:%S')} {text}", style))

    def _drawn(self) -> "RenderableType":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        now = self._clock()
        table = Table("point", "nodes", "elapsed", box=None, pad_edge=False)
        room = max(1, self._console.height - 4)
        for name, point in list(self._running.items())[:room]:
            cells = (name, _some(point.nodes), f"{now - point.since:.0f} of {point.limit:.0f} s")
            table.add_row(*map(Text, cells))
        return Group(table, Text(self._summary()))

    def _summary(self) -> str:
        ended = sum(self._ended.values())
        kinds = ", ".join(f"{count} {outcome}" for outcome, count in self._ended.items())
        waiting = self._points - ended - len(self._running)
        done = f"{ended} of {self._points} points{f' ({kinds})' if kinds else ''}"
        return f"{done}, {len(self._running)} running, {waiting} waiting"


def _some(nodes: Sequence[str]) -> str:
    """All names, or the first and the last of many."""
    return ", ".join(nodes) if len(nodes) <= 4 else f"{nodes[0]} .. {nodes[-1]} ({len(nodes)})"
