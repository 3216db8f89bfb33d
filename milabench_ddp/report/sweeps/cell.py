"""A cell of a sweep's table: the number of a benchmark, with what stands beside it."""

from msgspec import Struct

from ..statistics.values import NAN
from .settings import NOTHING


class Cell(Struct, frozen=True):
    """A number, and its text; without one it is NaN, and the text may be the benchmark's state."""

    value: float = NAN
    spread: float = NAN  # around the value, in its unit
    note: str = ""  # shown below the table
    text: str = NOTHING
    stdev: float = NAN  # of the steps behind the value; only CSV shows it
    benchmark: str = ""  # whose number it is; empty where there is none
