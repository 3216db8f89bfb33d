"""The nodes that stand by for those that do not start or are lost: ``run --spare``."""

from collections.abc import Iterable

from ..results.node_state import NodeStatus, leave_out
from .node_records import NodeRecords
from .nodes import NodeHandle


def stand_by(handles: Iterable[NodeHandle], records: NodeRecords, wanted: int) -> None:
    """Use as many nodes as are wanted: those in use, then the first ones."""
    there = [handle for handle in handles if handle.is_alive]
    there.sort(key=lambda each: (each.benchmark is None, each.stands_by, each.rank))
    for place, handle in enumerate(there):
        handle.stands_by = place >= wanted
    if len(there) >= wanted:
        for name, state in records.states.items():
            if state.status is NodeStatus.FAILED:
                records.change(name, leave_out(state))
