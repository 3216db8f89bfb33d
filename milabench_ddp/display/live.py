"""Progress on a terminal: a line for what has ended, and below it the view of what runs."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from ..errors import contained, reason_of
from ..events import Event, Outcome, Verdict
from ..hidden import SECRETS
from ..progress import LaunchCount
from ..results.tail import Tail
from ..visible import in_line
from .layout import layout
from .outline import Outline
from .run_progress import RunProgress
from .screen_thread import Job, ScreenThread, at_once, own_stderr

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_OUTCOME_STYLES = {Outcome.OK: "green", Outcome.CANCELLED: "yellow", Outcome.SKIPPED: "dim"}


class LiveProgress:
    """Makes the view of what runs, and prints a line above it for each ended benchmark.

    Args:
        console: where it is shown.
        outline: what is known of the run.
        clock: monotonic seconds.
        put: has a job done that writes to the console, perhaps in another thread, which also draws.
    """

    def __init__(
        self,
        console: "Console",
        outline: Outline,
        clock: Callable[[], float] = time.monotonic,
        put: Callable[[Job], None] = at_once,
    ) -> None:
        self._console, self._put = console, put
        self._known = RunProgress(outline, clock)
        self._lock = Lock()  # of ``_known``; never held while the console is written to
        self._drawn: list[int] = []  # the lengths of the lines on the terminal
        self._tail = None
        if outline.run is not None and not outline.sends_events:
            self._tail = Tail(outline.run)

    def begin(self, name: str, nodes: Sequence[str], limit: float, ago: float = 0.0) -> None:
        with self._lock:
            self._known.begin(name, nodes, limit, ago)

    def event(self, event: Event) -> None:
        with self._lock:
            self._known.take(event)

    def launch_ended(
        self, name: str, count: LaunchCount, text: str, *, pauses: bool = False
    ) -> None:
        """A launch has ended: print how precise the rate is."""
        with self._lock:
            self._known.launch_ended(name, count, pauses=pauses)
        if text:
            self._print(text, "dim")

    def end(self, name: str, verdict: Verdict) -> None:
        """A benchmark has ended: print a line, and its findings."""
        findings = self._known.findings_of(name) if verdict.is_ok else []
        with self._lock:
            first, *others = self._known.end(name, verdict, findings)
        self._print(first, _OUTCOME_STYLES.get(verdict.outcome, "red"))
        for line in others:
            self._print(line, "yellow")

    def message(self, text: str) -> None:
        self._print(text, "dim")

    def _print(self, text: str, style: str) -> None:
        from rich.text import Text

        shown = in_line(SECRETS.hide(text))
        line = Text(f"{time.strftime('%H:%M:%S')} {shown}", style)

        def show() -> None:
            self._wipe_wrapped()
            self._console.print(line, soft_wrap=True)

        self._put(show)

    def _wipe_wrapped(self) -> None:
        """After the terminal became narrower, erase the rows into which it has wrapped the view.

        rich erases as many rows as it has drawn lines.
        """
        from rich.control import Control
        from rich.segment import ControlType

        width = self._console.width
        with self._lock:
            rows = sum(max(0, length - 1) // width for length in self._drawn)
            self._drawn = [min(length, width) for length in self._drawn]
        if rows and _wraps_again(os.environ):
            erase = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            self._console.control(Control(*erase * rows))

    def _look(self) -> None:
        if self._tail is None:
            return
        with self._lock:
            names = list(self._known.running)
        for name in names:
            events = list(self._tail.events(name))  # without the lock: the disk may hang
            with self._lock:
                for event in events:
                    self._known.take(event)

    def picture(self) -> "Text":
        """The view, for the terminal as large as it is now; or why there is none."""
        from rich.text import Text

        errors: list[Exception] = []
        with contained(errors.append):
            return self._picture()
        return Text(f"the view cannot be shown: {reason_of(errors[0])}", "red")

    def _picture(self) -> "Text":
        from rich.text import Text

        self._look()
        self._wipe_wrapped()
        with self._lock:
            lines = layout(self._known, *self._console.size)
            self._drawn = [len(line.text) for line in lines]
        text = Text(no_wrap=True, overflow="ellipsis")
        for number, line in enumerate(lines):
            text.append(f"{chr(10) * bool(number)}{line.text}", line.style or None)
        return text


def _wraps_again(environ: Mapping[str, str]) -> bool:
    term = environ.get("TERM", "")
    is_screen = term.startswith("screen") and "TMUX" not in environ
    return not (is_screen or term == "linux" or "XTERM_VERSION" in environ)


@contextmanager
def live_progress(outline: Outline) -> Iterator[LiveProgress]:
    """Show the progress of a run on the terminal of stderr.

    It is drawn only once a second, because drawing must not compete with the measured programs.
    """
    from rich.console import Console
    from rich.live import Live

    stream, screen = own_stderr(), ScreenThread()
    console = Console(file=stream)
    live = LiveProgress(console, outline, put=screen.put)
    table = Live(
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,  # a print must not wait for the lock of a thread that waits
        redirect_stderr=False,
        get_renderable=live.picture,
    )

    @contextmanager
    def picture() -> Iterator[Job]:
        with table:
            table.refresh()
            yield table.refresh

    with screen.running(stream, picture()):
        yield live
