"""What every measurement is given: a folder, and how much effort to make."""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

Value = TypeVar("Value")


class Effort(Enum):
    """How long to measure: ``TINY`` shows only that a measurement works."""

    TINY = "tiny"
    QUICK = "quick"
    WHOLE = "whole"


@dataclass(frozen=True)
class Room:
    """Where a measurement works, and how long; its folder is removed after it."""

    folder: Path
    effort: Effort

    def pick(self, tiny: Value, quick: Value, whole: Value) -> Value:
        """The value for this effort."""
        return {Effort.TINY: tiny, Effort.QUICK: quick, Effort.WHOLE: whole}[self.effort]
