"""Limits the wait for a call that may never return, as on a disk that hangs."""

import queue
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

T = TypeVar("T")


def in_time(call: Callable[[], T], seconds: float) -> T:
    """Make a call in a thread of its own; return its value, or raise its exception.

    Raises:
        TimeoutError: it has not returned in time. Its thread goes on, and the program can end
            without it.
    """
    done: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

    def run() -> None:
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - it is raised in the other thread
            done.put(_raising(error))
        else:
            done.put(lambda: value)

    try:
        threading.Thread(target=run, name="in time", daemon=True).start()
    except RuntimeError:  # no more threads can start: better without a limit than not at all
        return call()
    try:
        answer = done.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError from None
    return answer()


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def answer() -> NoReturn:
        raise error

    return answer
