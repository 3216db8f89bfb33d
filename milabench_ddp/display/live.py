"""Progress on a terminal: a line for what has ended, and below it the view of what runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from ..errors import reason_of
from ..events import Clock
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
        clock: Clock = time.monotonic,
        put: Callable[[Job], None] = lambda job: job(),
    ) -> None:
        super().__init__(console.file, outline, clock, put)
        self._console = console
        self._tail = None
        if outline.run is not None and not outline.sends_events:
            self._tail = Tail(outline.run)

    def write_passing(self, text: str) -> None:
        """Nothing: the view shows it."""

    def write(self, text: str, style: str, when: float | None = None) -> None:
        from rich.text import Text

        line = Text(time_and_text(text, when), style)
        self._put(partial(self._console.print, line, soft_wrap=True))

    def picture(self) -> "Text":
        from rich.text import Text

        try:
            return self._picture()
        except Exception as error:  # noqa: BLE001 - the run goes on after any error
            return Text(f"the view cannot be shown: {reason_of(error)}", "red")

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
        with self._lock:
            lines = layout(self._known, *self._console.size)
        newline = Text("\n", no_wrap=True, overflow="ellipsis")
        return newline.join(Text(line.text, line.style) for line in lines)


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
