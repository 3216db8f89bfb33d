"""The columns of the main table: milabench's, and how our own report shows some of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..table import Column, without_exponent
from .statistics import NAN

ZERO = 0.0005  # what is smaller would be 0.0%
TINY = 1e-6  # no one needs the digits of what is smaller


@dataclass(frozen=True)
class Rate(Column):
    """A column of rates, in which rates below 1 keep three digits."""

    def text(self, value: Any) -> str:
        """The text of a rate."""
        if 0 < abs(value) < 1:
            return Column(self.name, "#10.3g").text(value)
        return super().text(value)


@dataclass(frozen=True)
class Share(Column):
    """A column of uncertainties in per cent, of which a known one is never shown as 0."""

    def text(self, value: Any) -> str:
        """The text of a fraction."""
        if not 0 < value < ZERO:
            return super().text(value)
        if value < TINY:
            return f"<{TINY:.4%}"
        return without_exponent(100 * value, ".1g") + "%"


def _number(name: str, format: str) -> Column:
    """A column in which an unknown number is ``nan``, as in milabench."""
    return Column(name, format, unknown=f"{NAN:{format}}")


MAIN_COLUMNS = (  # in milabench's order and with its formats
    Column("bench"),
    _number("fail", "4.0f"),
    _number("n", "3.0f"),
    _number("ngpu", "4.0f"),
    _number("perf", "10.2f"),
    _number("sem%", "6.1%"),
    _number("std%", "6.1%"),
    _number("peak_memory", "11.0f"),
    _number("score", "10.2f"),
    _number("weight", "6.2f"),
)


OWN_COLUMNS: Mapping[str, type[Column]] = {
    "perf": Rate,
    "score": Rate,
    "sem%": Share,
    "std%": Share,
}
