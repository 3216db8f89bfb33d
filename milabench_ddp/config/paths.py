"""Paths as people write and read them."""

import os
from pathlib import Path


def shown(path: str | os.PathLike[str]) -> str:
    """The path as a person reads it: relative to the current folder where that is shorter."""
    full = os.fspath(path)
    return min(os.path.relpath(full), full, key=len)


def expanded(text: str) -> Path:
    """The path with ``~`` expanded; one of a user who does not exist is left as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
