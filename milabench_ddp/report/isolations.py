"""The isolations of a benchmark: what its nodes did in probes."""

from collections.abc import Iterator

from ..results.isolation import IsolationRecord
from .model import Row


def isolations(row: Row) -> Iterator[IsolationRecord]:
    """One for each of its runs that has one."""
    for run in {id(each.run): each.run for each in row.processes}.values():
        known = run.state.isolations if run.state else {}
        if row.name in known:
            yield known[row.name]
