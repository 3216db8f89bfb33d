"""How much faster benchmarks are than the one that they name with ``relative_to``."""

import math
from collections.abc import Mapping

from ..table import Column, Measured, Table
from .model import Row, Rows
from .statistics import NAN

RELATIVE_TO = "relative_to"


def speedup(rows: Rows) -> Table:
    """A row for each benchmark that has a ``relative_to``: the ratio of both throughputs.

    It is not known if one of the two measured nothing, has no launch that ended ok, or has another
    unit. Behind ``±`` stands half of its 95 % interval over launches, from those of both as
    independent errors; a single launch has none.
    """
    columns = (
        Column("bench"),
        Column("relative to"),
        Column("speed-up", ".3f"),
    )
    named = {row.name: row for row in rows}
    values = []
    for row in rows:
        base = row.config.get(RELATIVE_TO)
        if isinstance(base, str):
            values.append((row.name, base, _ratio(row, named, base)))
    return Table(columns, tuple(values), "Speed-up")


def _ratio(row: Row, named: Mapping[str, Row], name: str) -> float:
    """The ratio of throughputs, with half of its 95 % interval; NaN if it is not known."""
    base = named.get(name)
    if base is None or base.unit != row.unit or not (_is_usable(base) and _is_usable(row)):
        return NAN
    ratio = row.throughput / base.throughput
    relative = math.hypot(_over_launches(row), _over_launches(base))
    return Measured(ratio, ratio * relative, with_error=True)


def _is_usable(row: Row) -> bool:
    succeeded, _ = row.successful_launches()
    return succeeded > 0 and row.throughput > 0


def _over_launches(row: Row) -> float:
    """Half of the 95 % interval of ``perf`` over launches, as a fraction of it; NaN for one."""
    return row.half_width if row.summary.launches >= 2 else NAN
