"""The nodes that stand by for those that do not start or are lost: ``run --spare``."""

from collections.abc import Iterable

from ..hostlist import shown_nodes
from ..progress import ProgressObserver
from ..results.node_state import NodeStatus, leave_out
from .node_records import NodeRecords
from .nodes import NodeHandle


class StandBy:
    """Chooses which of ``nodes`` nodes are used, and tells which ones stand by.

    Args:
        count: how many of them are not needed.
    """

    def __init__(
        self, count: int, nodes: int, records: NodeRecords, observer: ProgressObserver
    ) -> None:
        self.count, self._wanted, self._idle = count, nodes - count, ""
        self._records, self._observer = records, observer

    def choose(self, handles: Iterable[NodeHandle]) -> None:
        """Use as many nodes as are wanted: those in use, then the first ones."""
        if not self.count:
            return
        there = [handle for handle in handles if handle.is_alive]
        there.sort(key=lambda each: (each.benchmark is None, each.stands_by, each.rank))
        for place, handle in enumerate(there):
            handle.stands_by = place >= self._wanted
        if len(there) >= self._wanted:
            for name, state in self._records.states.items():
                if state.status is NodeStatus.FAILED:
                    self._records.change(name, leave_out(state))
        self._records.tell()
        idle = shown_nodes(handle.name for handle in there[self._wanted :]) or "no node"
        if idle != self._idle:
            self._idle = idle
            self._observer.message(f"standing by: {idle}")
