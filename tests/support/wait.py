"""Waiting for what another process, or another thread, is about to do."""

import time
from collections.abc import Callable


def wait_for(what: Callable[[], object], timeout: float = 60.0) -> None:
    """Look again and again until it is true; fails the test where that takes too long."""
    deadline = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < deadline, f"it did not come within {timeout:g} s"
        time.sleep(0.005)
