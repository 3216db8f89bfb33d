"""Charts of a report, as SVG; each has a title, a description, and its numbers as a table.

A new kind is a function ``Report -> Iterator[Chart]`` in a file here, and a line in ``CHARTS``.
"""

from collections.abc import Callable, Iterator, Mapping

from ..model import Report
from .chart import Chart
from .communication import communication
from .heat_maps import heat_maps, links
from .ledger import ledger
from .rates import rates
from .sweeps import sweeps

CHARTS: Mapping[str, Callable[[Report], Iterator[Chart]]] = {
    "rates": rates,
    "sweeps": sweeps,
    "heat_maps": heat_maps,
    "ledger": ledger,
    "communication": communication,
    "links": links,
}


def charts_of(report: Report) -> Iterator[Chart]:
    """All charts of a report, by kind, in the order of its benchmarks."""
    for make in CHARTS.values():
        yield from make(report)
