"""How well a benchmark scales: its efficiency on N nodes, against the fewest nodes that it ran on.

    efficiency(N) = throughput(N) / (throughput(N0) * N / N0)

Throughput is that of all nodes together, so the formula is the same for weak scaling (the batch of
a device is kept) and strong scaling (the batch of all devices is kept); what it means is not. The
half widths of both 95 % intervals, relative to their values, are added as independent errors:
``spread / efficiency = sqrt(h(N)^2 + h(N0)^2)``.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from .model import NAN, Row
from .settings import NODES, mapping, matrix, node_count

WEAK = "weak"


@dataclass(frozen=True)
class Efficiency:
    """A fraction of the ideal, half the width of its 95 % interval, and the N0 it is taken to."""

    value: float
    spread: float  # NaN where one of the two was not measured often enough
    base: int  # nodes
    fewest: int  # nodes of the smallest point of the sweep, which may have no throughput


def efficiencies(rows: Iterable[Row], usable: Callable[[Row], bool]) -> dict[str, Efficiency]:
    """The efficiency of each benchmark that has a throughput and ``usable`` results, by name."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(_settings(row), []).append(row)
    found: dict[str, Efficiency] = {}
    for group in groups.values():
        measured = [row for row in group if row.throughput > 0 and usable(row)]
        if measured:
            base = min(measured, key=node_count)
            fewest = min(map(node_count, group))
            found |= {row.name: _efficiency(row, base, fewest) for row in measured}
    return found


def scaling(row: Row) -> str:
    """``weak`` or ``strong``, as the configuration says."""
    return str(matrix(row).get("scaling") or row.config.get("scaling") or WEAK)


def _efficiency(row: Row, base: Row, fewest: int) -> Efficiency:
    nodes, least = node_count(row), node_count(base)
    value = row.throughput / (base.throughput * nodes / least)
    spread = 0.0 if row is base else value * math.hypot(_half_width(row), _half_width(base))
    return Efficiency(value, spread, least, fewest)


def _half_width(row: Row) -> float:
    """Half of the 95 % interval of the mean rate, relative to it."""
    interval = row.details.get("interval")
    if not isinstance(interval, list | tuple) or not row.perf > 0:
        return NAN
    return float(interval[1] - interval[0]) / 2 / row.perf


def _settings(row: Row) -> tuple[Any, ...]:
    """What points have in common that differ only in their nodes."""
    if point := matrix(row):
        kept = tuple(sorted((key, str(value)) for key, value in point.items() if key != NODES))
        return "matrix", scaling(row), kept
    argv = row.config.get("argv")
    options = sorted(mapping(argv).items(), key=str) if isinstance(argv, dict) else argv
    return "argv", scaling(row), str(row.config.get("group")), str(options)
