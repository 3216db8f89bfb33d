"""``<run>/<benchmark>/state.json``: how one benchmark fares, where several hosts write one run.

On one host ``run.json`` says it of all. Over many, whoever leads a benchmark writes this file, and
holds the lock beside it, so that no two writers share a file and a reader knows who has gone.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import Any

from ..errors import RunDirError
from ..events import Outcome
from .run_dir import is_alive
from .runfile import BenchmarkState

NAME = "state.json"
LOST = "whoever led it is gone"
_LAST_WORDS = (Outcome.OK, Outcome.FAILED, Outcome.TIMEOUT, Outcome.SKIPPED)


def save_point(folder: Path, state: BenchmarkState) -> None:
    """Replace the file at once.

    Raises:
        RunDirError: it cannot be written.
    """
    temporary = folder / f".{NAME}.{os.getpid()}"
    try:
        folder.mkdir(exist_ok=True)
        with temporary.open("w") as out:
            json.dump(asdict(state), out)
            out.write("\n")
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(folder / NAME)
    except OSError as error:
        raise RunDirError(f"cannot write {folder / NAME}: {error.strerror}") from error


def read_point(folder: Path) -> dict[str, Any] | None:
    """What it says; None where there is none yet. One that runs, and whose leader is gone, is lost.

    Raises:
        OSError: it is there and cannot be read.
        TypeError, ValueError: it is none.
    """
    try:
        state = json.loads((folder / NAME).read_bytes())
    except FileNotFoundError:
        return None
    if not isinstance(state, dict):
        raise TypeError(state)
    if state.get("outcome") == "running" and not is_alive(folder):
        state |= {"outcome": str(Outcome.LOST), "reason": LOST}
    return state


def is_final(state: Mapping[str, Any] | None) -> bool:
    """Whether a benchmark has a result that its program gave: ``--resume`` leaves it alone."""
    return state is not None and state.get("outcome") in _LAST_WORDS and not state.get("cut_short")


def set_aside(run: Path, name: str) -> None:
    """Move the files of an earlier attempt at a benchmark out of the way of the next one."""
    folder = run / name
    there = run.glob(f"{escape(name)}.*")
    mine = [p for p in there if p.suffix in (".data", ".stdout", ".stderr") and _belongs(p, name)]
    if not mine:
        return
    try:
        attempts = folder / "attempts"
        attempts.mkdir(parents=True, exist_ok=True)
        attempt = attempts / str(1 + sum(1 for _ in attempts.iterdir()))
        attempt.mkdir()
        for path in mine:
            path.rename(attempt / path.name)
    except OSError as error:
        raise RunDirError(f"cannot write {folder}: {error.strerror}") from error


def _belongs(path: Path, name: str) -> bool:
    """Whether a file is this benchmark's, and not that of one whose name begins alike.

    ``gpt.0.data`` is of ``gpt``; ``gpt.v2.0.data`` is of ``gpt.v2`` where there is such a folder.
    """
    words = path.stem.split(".")
    longest = max(
        (k for k in range(1, len(words)) if (path.parent / ".".join(words[:k])).is_dir()),
        default=0,
    )
    return ".".join(words[:longest]) == name
