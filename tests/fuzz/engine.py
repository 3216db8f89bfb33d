"""Searches for inputs that break a law: hypothesis makes them, each is bounded."""

import re
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import Phase
from hypothesis import strategies as st

from tests.support.bounded import UnboundedError, bounded

SHRINKING = 15.0  # seconds in which a finding is made smaller


@dataclass(frozen=True)
class Target:
    """What is fuzzed, and the law that holds for each input.

    Args:
        inputs: makes the inputs.
        check: raises for an input that breaks the law, which its docstring states; it gets an empty
            folder.
        examples: of one round; a round of all targets takes about a minute.
    """

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any, Path], None]
    examples: int


@dataclass(frozen=True)
class Finding:
    """A way in which a law was broken, with the smallest input that was found for it."""

    place: str  # the error, and the line that raised it: findings of one place are one
    error: str
    example: str


def check_one(target: Target, value: Any) -> None:
    """Check the law for one input, in an empty folder, within bounds of time and memory."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, bounded():
        target.check(value, Path(folder))


def play_round(
    target: Target,
    seed: int,
    known: set[str],
    examples: int | None = None,
    phases: Sequence[Phase] = (Phase.generate, Phase.shrink),
) -> tuple[int, Finding | None]:
    """Check one round of inputs, until one breaks the law in a way that is not ``known``.

    Returns how many inputs were checked, and the finding; its place is then among the known.
    """
    checked = 0
    broken: list[tuple[Any, BaseException]] = []
    began = time.monotonic()

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=examples or target.examples,
        database=None,
        deadline=None,
        phases=phases,
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(target.inputs)
    def law(value: Any) -> None:
        nonlocal checked, began
        checked += 1
        if not broken:
            began = time.monotonic()
        elif time.monotonic() - began > SHRINKING:
            return
        try:
            check_one(target, value)
        except (Exception, UnboundedError) as error:
            if place_of(error) not in known:
                broken.append((value, error))
                raise AssertionError from error

    try:
        law()
    except Exception:  # hypothesis may raise a group, or its own error: `broken` has the cause
        if not broken:
            raise
        value, error = min(broken, key=lambda each: len(repr(each[0])))
        known.add(place_of(error))
        told = "".join(traceback.format_exception(error)[-6:])
        return checked, Finding(place_of(error), told, _shown(value))
    return checked, None


def place_of(error: BaseException) -> str:
    """The type of an error, and the innermost line of this repository that raised it."""
    root = str(Path(__file__).resolve().parents[2])
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(root)] or frames
    frame = ours[-1]
    said = str(error).partition("\n")[0][:80] if isinstance(error, AssertionError) else ""
    first = re.sub(r"\d+", "N", said)
    return f"{type(error).__name__} {Path(frame.filename).name}:{frame.lineno} {first}".rstrip()


def _shown(value: object, most: int = 3000) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"
