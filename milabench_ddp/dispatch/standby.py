"""The nodes that stand by for those that do not start or are lost: ``run --spare``."""

from collections.abc import Iterable

from ..results.node_state import NodeStatus, leave_out
from .node_records import NodeRecords
from .nodes import NodeHandle


def stand_by(handles: Iterable[NodeHandle], records: NodeRecords, wanted: int) -> None:
    """Use as many nodes as are wanted: those in use, then the first ones."""
    ordered = sorted(handles, key=_place)
    for place, handle in enumerate(ordered):
        handle.stands_by = place >= wanted
    if sum(handle.is_usable for handle in ordered) == wanted:
        for name, state in records.states.items():
            if state.status is NodeStatus.FAILED:
                records.change(name, leave_out(state))


def _place(handle: NodeHandle) -> tuple[bool, bool, bool, int]:
    return not handle.is_alive, handle.benchmark is None, handle.stands_by, handle.rank
