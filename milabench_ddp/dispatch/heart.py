"""Signs of life from a thread of their own: a disk that hangs under the main one is no death."""

import threading
from collections.abc import Callable
from types import TracebackType


class Heart:
    """Within its block, calls a function every so many seconds; the last call has ended after it.

    Args:
        beat: what is called, by another thread.
        seconds: between two calls.
    """

    def __init__(self, beat: Callable[[], None], seconds: float) -> None:
        self._beat, self._seconds = beat, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="heart", daemon=True)

    def _go_on(self) -> None:
        while not self._over.wait(self._seconds):
            self._beat()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
