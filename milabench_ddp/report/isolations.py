"""The isolations of a benchmark: what its nodes did in probes."""

from collections.abc import Iterator

from ..results.isolation import IsolationRecord
from .model import Row


def isolations(row: Row) -> Iterator[IsolationRecord]:
    """One for each of its runs that has one."""
    for run in row.runs:
        if run.state and row.name in run.state.isolations:
            yield run.state.isolations[row.name]
