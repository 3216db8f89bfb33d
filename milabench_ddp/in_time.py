"""Limits the wait for a call that may never return, as on a disk that hangs."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def in_time(call: Callable[[], T], seconds: float) -> T:
    """Make a call in a thread of its own; return its value, or raise its exception.

    Raises:
        TimeoutError: it has not returned in time. Its thread goes on, and the program can end
            without it.
    """
    values: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            values.append(call())
        except BaseException as error:  # noqa: BLE001 - it is raised in the other thread
            errors.append(error)

    thread = threading.Thread(target=run, name="in time", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads can start: better without a limit than not at all
        return call()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not values:
        raise TimeoutError
    return values[0]
