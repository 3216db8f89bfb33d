"""How well a benchmark scales, relative to N0, the fewest nodes that it ran on:

    efficiency(N) = throughput(N) / (throughput(N0) * N / N0)

Throughput is that of all nodes together. So the formula is the same for weak scaling (each device
keeps its batch size) and for strong scaling (all devices together keep theirs), but its meaning
differs. A bandwidth is that of each link and does not add up over nodes, so its efficiency is

    efficiency(N) = bandwidth(N) / bandwidth(N0)

The spread adds the half widths h of both 95 % intervals, relative to their values, as
independent errors: ``spread / efficiency = sqrt(h(N)^2 + h(N0)^2)`` (G. Y. Zou, A. Donner,
"Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008). They
are intervals over launches. A benchmark with a single launch has none: how much the steps of one
launch vary does not say how far the next launch will be.
"""

import math
from collections.abc import Callable, Iterator
from operator import attrgetter

from ...grouping import grouped
from ..model import NODES, Row, Rows
from ..pooling import PROGRAM
from .settings import Cell

WEAK = "weak"
ALONE = "measured on no other number of nodes"
UNCLEAR = "which benchmarks differ from it in their nodes alone is not known"


def efficiencies(rows: Rows, is_usable: Callable[[Row], bool]) -> dict[str, Cell]:
    """The efficiency of each benchmark that has a throughput and usable results, by name.

    The spread is half of its 95 % interval; NaN if one of the two throughputs is of a single
    launch. The note says what it is relative to, or why there is none.
    """
    found: dict[str, Cell] = {}
    for group, is_known in alike_but_nodes(rows):
        measured = [row for row in group if row.throughput > 0 and is_usable(row)]
        if not is_known:
            found |= {row.name: Cell(note=UNCLEAR) for row in measured}
        elif len(measured) == 1:
            found[measured[0].name] = Cell(note=ALONE)
        elif measured:
            base, note = min(measured, key=attrgetter("nodes")), ""
            fewest = min(row.nodes for row in group)
            if fewest < base.nodes:
                note = f"against {base.nodes} nodes: the point of {fewest} has no throughput"
            found |= {row.name: _efficiency(row, base, note) for row in measured}
    return found


def _efficiency(row: Row, base: Row, note: str) -> Cell:
    nodes = (1, 1) if row.is_bandwidth else (row.nodes, base.nodes)
    value = efficiency_of(row.throughput, nodes[0], base.throughput, nodes[1])
    if row is base:
        return Cell(value, 0.0, note)
    relative = math.hypot(row.half_width_over_launches, base.half_width_over_launches)
    return Cell(value, value * relative, note)


def efficiency_of(throughput: float, nodes: int, base: float, base_nodes: int) -> float:
    return throughput / (base * nodes / base_nodes)


def alike_but_nodes(rows: Rows) -> Iterator[tuple[list[Row], bool]]:
    """The benchmarks that seem to differ only in their nodes, and whether they are known to.

    They are not where a number of nodes comes twice: the run did not record the names of sweeps
    with the same axes, say.
    """
    for group in grouped((_settings_but_nodes(row), row) for row in rows).values():
        yield group, len({row.nodes for row in group}) == len(group)


def _settings_but_nodes(row: Row) -> tuple[str, ...]:
    if point := row.matrix:
        kept = {key: str(value) for key, value in point.items() if key != NODES}
        program = PROGRAM.sub("", str(row.config.get("program")))
        return str(row.config.get("sweep")), scaling(row), program, str(sorted(kept.items()))
    argv = row.config.get("argv")
    options = sorted(argv.items(), key=str) if isinstance(argv, dict) else argv
    return scaling(row), str(row.config.get("group")), str(options)


def scaling(row: Row) -> str:
    return str(row.matrix.get("scaling") or row.config.get("scaling") or WEAK)


def ideals(rows: Rows) -> str:
    found: list[str] = []
    kinds = sorted({scaling(row) for row in rows if not row.is_bandwidth})
    if kinds:
        found.append(
            f"the throughput of the fewest nodes, times nodes ({' and '.join(kinds)} scaling)"
        )
    if any(row.is_bandwidth for row in rows):
        found.append("the bandwidth of the fewest nodes")
    return ", or ".join(found)
