"""Signs of life from a thread of their own: a disk that hangs under the main one is no death."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def beating(beat: Callable[[], None], seconds: float) -> Iterator[None]:
    """For a block, let another thread call a function every so many seconds.

    The last call has ended when the block has.
    """
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(seconds):
            beat()

    thread = threading.Thread(target=go_on, name="heart", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
