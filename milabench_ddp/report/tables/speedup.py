"""How much faster benchmarks are than the one that they name with ``relative_to``."""

import math

from ...table import Column, Measured, Table
from ..model import Row, Rows
from ..statistics.values import NAN
from .main_table import what_intervals_hold
from .selection import MadeTable

RELATIVE_TO = "relative_to"


@MadeTable
def speedup(rows: Rows) -> Table:
    """A row for each benchmark that has a ``relative_to``: the ratio of both throughputs.

    A note says why it is not known. Behind ``±`` stands half of its 95 % interval, by those of both
    as independent errors: over launches, or within single ones.
    """
    columns = (Column("benchmark"), Column("relative to"), Column("speed-up", ".3f"))
    named = {row.name: row for row in rows}
    values = []
    notes = []
    compared: dict[str, Row] = {}
    for row in rows:
        name = row.config.get(RELATIVE_TO)
        if not isinstance(name, str):
            continue
        base = named.get(name)
        reason = _why_none(row, base) if base else f"{name} was not run"
        if base is None or reason:
            values.append((row.name, name, NAN))
            notes.append(f"({row.name} has no speed-up: {reason})")
        else:
            values.append((row.name, name, _ratio(row, base)))
            compared |= {row.name: row, name: base}
    notes += what_intervals_hold([*compared.values()])
    return Table(columns, tuple(values), "Speed-up", tuple(notes))


def _why_none(row: Row, base: Row) -> str:
    if base is row:
        return "it is relative to itself"
    for each in (row, base):
        if not _is_usable(each):
            return f"{each.name} failed, or measured nothing"
    if base.unit != row.unit:
        return f"{base.name} is in {base.unit or 'no unit'}, not in {row.unit or 'none'}"
    presets = row.config.get("preset"), base.config.get("preset")
    if all(presets) and presets[0] != presets[1]:
        return f"{base.name} has the preset {presets[1]}, not {presets[0]}"
    return ""


def _ratio(row: Row, base: Row) -> Measured:
    ratio = row.throughput / base.throughput
    return Measured(ratio, ratio * math.hypot(row.uncertainty, base.uncertainty), with_error=True)


def _is_usable(row: Row) -> bool:
    succeeded, _ = row.successful_launches()
    return succeeded > 0 and row.throughput > 0
