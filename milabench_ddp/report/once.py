"""Calculates once what several findings need of a benchmark."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Subject = TypeVar("Subject")
Made = TypeVar("Made")


def once(make: Callable[[Subject], Made]) -> Callable[[Subject], Made]:
    """A function that is called once for each object; a frozen one keeps the result with it."""
    name = f"{make.__module__}.{make.__qualname__}"

    @wraps(make)
    def made(subject: Subject) -> Made:
        kept = vars(subject)  # a Struct has it with `dict=True`
        if name not in kept:
            kept[name] = make(subject)
        found: Made = kept[name]
        return found

    return made
