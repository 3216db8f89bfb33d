"""Progress on a terminal: a line for what has ended, and below it the view of what runs."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..errors import contained, reason_of
from ..results.tail import Tail
from .layout import layout
from .plain import PlainProgress, time_and_text
from .run_progress import Outline
from .screen_thread import Job, Jobs, own_stderr, write_in_thread

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


class LiveProgress(PlainProgress):
    """Makes the view of what runs, and prints a line above it for each ended benchmark.

    Args:
        put: has a job done that writes to the console, perhaps in another thread, which also draws.
    """

    def __init__(
        self,
        console: "Console",
        outline: Outline,
        clock: Callable[[], float] = time.monotonic,
        put: Callable[[Job], None] = lambda job: job(),
    ) -> None:
        super().__init__(console.file, outline, clock, put)
        self._console = console
        self._drawn: list[int] = []  # the lengths of the lines on the terminal
        self._tail = None
        if outline.run is not None and not outline.sends_events:
            self._tail = Tail(outline.run)

    def write_passing(self, text: str) -> None:
        """Nothing: the view shows it."""

    def write(self, text: str, style: str, when: float | None = None) -> None:
        from rich.text import Text

        line = Text(time_and_text(text, when), style)

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
        term = os.environ.get("TERM", "")
        is_screen = term.startswith("screen") and "TMUX" not in os.environ
        keeps_rows = is_screen or term == "linux" or "XTERM_VERSION" in os.environ
        if rows and not keeps_rows:
            erase = ((ControlType.ERASE_IN_LINE, 2), (ControlType.CURSOR_UP, 1))
            self._console.control(Control(*erase * rows))

    def picture(self) -> "Text":
        from rich.text import Text

        errors: list[Exception] = []
        with contained(errors.append):
            return self._picture()
        return Text(f"the view cannot be shown: {reason_of(errors[0])}", "red")

    def _picture(self) -> "Text":
        from rich.text import Text

        if self._tail is not None:
            with self._lock:
                names = list(self._known.running)
            for name in names:
                events = list(self._tail.events(name))  # without the lock: the disk may hang
                with self._lock:
                    for event in events:
                        self._known.take(event)
        self._wipe_wrapped()
        with self._lock:
            lines = layout(self._known, *self._console.size)
            self._drawn = [len(line.text) for line in lines]
        text = Text(no_wrap=True, overflow="ellipsis")
        for number, line in enumerate(lines):
            text.append(f"{chr(10) * bool(number)}{line.text}", line.style or None)
        return text


@contextmanager
def live_progress(outline: Outline) -> Iterator[LiveProgress]:
    """Show the progress of a run on the terminal of stderr.

    It is drawn only once a second, because drawing must not compete with the measured programs.
    """
    from rich.console import Console
    from rich.live import Live

    stream = own_stderr()
    jobs: Jobs = SimpleQueue()
    console = Console(file=stream)
    live = LiveProgress(console, outline, put=jobs.put)
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

    with write_in_thread(stream, jobs, picture()):
        yield live
