"""Which cluster a session of tests may start: two sessions on one machine take different ones."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SLOTS = range(5, 10)
"""Those of tests; the others are for people."""


@contextmanager
def free_slot() -> Iterator[int]:
    """Hold the first slot that no other session holds, until the block or this process ends."""
    for slot in SLOTS:
        with Path(tempfile.gettempdir(), f"milabench-slurm-{slot}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield slot
            return
    raise AssertionError(f"slots {SLOTS.start} to {SLOTS.stop - 1} are taken by other sessions")
