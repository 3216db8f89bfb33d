"""Folders in each other, more than Python's own functions remove."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def nested(folder: Path, depth: int) -> Iterator[None]:
    """Make so many folders in each other; remove them at the end, as pytest cannot."""
    fd = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    try:
        yield
    finally:
        subprocess.run(["rm", "-rf", folder / "d"], check=True)
