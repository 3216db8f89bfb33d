"""Waits for another process or thread."""

import time
from collections.abc import Callable

# Seconds. It only bounds a hang, so it is long enough for a busy machine; but pytest's own limit is
# longer, so that the test can still say what it awaited.
PATIENCE = 400.0


def wait_for(what: Callable[[], object], timeout: float = PATIENCE) -> None:
    """Checked a condition until it is true; the test fails if that takes too long."""
    deadline = time.monotonic() + timeout
    while not what():
        assert time.monotonic() < deadline, f"it did not come within {timeout:g} s"
        time.sleep(0.005)
