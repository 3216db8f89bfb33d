"""The table of steps: how long one takes, what it consists of, and what it needs."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

from ..results.records import is_finite
from .model import NAN, Row
from .section import Heading, Section, without_unknown

PARTS = ("data", "forward", "backward", "forward_backward", "optimizer")
ALWAYS = 3  # columns that stay when nothing in them is known


def steps(rows: Sequence[Row]) -> Section:
    """A row for each benchmark whose program told of its steps."""
    known = [row for row in rows if any(m.steps or m.shares for m in row.members)]
    parts = _parts(known)
    columns = (
        Heading("bench"),
        Heading("ms", ".4g"),
        Heading("p95 ms", ".4g"),
        *(Heading(part.replace("_", "+"), ".1%") for part in parts),
        Heading("TFLOP/s/GPU", ".4g"),
        Heading("MFU", ".1%"),
        Heading("allocated", ".0f"),
        Heading("reserved", ".0f"),
    )
    values = tuple(_values(row, parts) for row in known)
    return without_unknown(Section("Steps", columns, values, _told_only(known)), ALWAYS)


def _parts(rows: Sequence[Row]) -> list[str]:
    names = {name for row in rows for member in row.members for name in member.shares}
    return [*(p for p in PARTS if p in names), *sorted(names.difference(PARTS))]


def _values(row: Row, parts: Sequence[str]) -> tuple[Any, ...]:
    members = row.members
    tflops = row.told("model").get("tflops_per_gpu")
    return (
        row.name,
        row.step_ms,
        _median([m.p95 for m in members if m.steps]),
        *(share(row, part) for part in parts),
        float(tflops) if is_finite(tflops) else NAN,
        row.mfu,
        _largest([m.allocated for m in members]),
        _largest([m.reserved for m in members]),
    )


def share(row: Row, part: str) -> float:
    """The part's share of a step, the mean over ranks; NaN where it is not known."""
    shares = [m.shares[part] for m in row.members if part in m.shares]
    return statistics.fmean(shares) if shares else NAN


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else NAN


def _largest(values: Sequence[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=NAN)


def _told_only(rows: Sequence[Row]) -> tuple[str, ...]:
    means = [row.name for row in rows if not any(m.steps for m in row.members)]
    if not means:
        return ()
    return (f"(ms is the mean, as no step times were recorded: {', '.join(means)})",)
