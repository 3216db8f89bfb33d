"""The states of the nodes of one coordinator: on disk, and told to the user."""

from collections.abc import Mapping

from msgspec.structs import replace

from ..codec import write_record
from ..errors import contained, reason_of
from ..progress import ProgressObserver
from ..results.node_state import NodeState, NodeStatus, differences
from ..results.run_dir import RunDir


class NodeTeller:
    """Tells an observer what becomes of nodes, and in what they differ; each sentence once."""

    def __init__(self, observer: ProgressObserver) -> None:
        self._observer = observer
        self._known: dict[str, NodeState] = {}
        self._differences: set[str] = set()

    def ignore(self, nodes: Mapping[str, NodeState]) -> None:
        """Take note of the states in which an earlier attempt has left nodes."""
        self._known.update(nodes)

    def tell(self, nodes: Mapping[str, NodeState]) -> None:
        """Tell what has changed since the last call; differences once all have been heard of."""
        for name, state in nodes.items():
            before = self._known.get(name, NodeState(state.name))
            if text := _change(before, state):
                self._observer.message(text)
            for warning in state.shown_warnings:
                if warning not in before.shown_warnings:
                    self._observer.message(warning)
        self._known = dict(nodes)
        if any(state.is_expected for state in nodes.values()):
            return
        for each in differences(nodes.values()):
            if each.sentence not in self._differences:
                self._differences.add(each.sentence)
                self._observer.message(each.sentence)


def _change(before: NodeState, now: NodeState) -> str:
    if (before.status, before.reason) == (now.status, now.reason):
        return ""
    if now.status is NodeStatus.JOINED:
        if before.status is NodeStatus.LOST:
            return f"{now.name} is back"
        return f"{now.name} has joined" if before.reason else ""
    if not now.problem:
        return ""
    return "\n    ".join([now.problem, *now.log])


class NodeRecords:
    """Keeps the states of nodes, writes each change to disk, and tells it."""

    def __init__(self, run: RunDir, names: list[str], observer: ProgressObserver) -> None:
        self._run, self._observer, self._teller = run, observer, NodeTeller(observer)
        self._told: set[str] = set()  # what hindered the writing of states
        self._has_changed = False  # since the last ``tell``
        self.states = {name: NodeState(name) for name in names}
        for name in names:
            self._write(name)

    @property
    def problems(self) -> list[str]:
        return [state.problem for state in self.states.values() if state.problem]

    def set(
        self, name: str, status: NodeStatus, reason: str = "", log: tuple[str, ...] = ()
    ) -> None:
        self.change(name, replace(self.states[name], status=status, reason=reason, log=log))

    def tell(self) -> None:
        if self._has_changed:  # comparing 1,000 nodes at every heartbeat takes a core
            self._teller.tell(self.states)
        self._has_changed = False

    def change(self, name: str, state: NodeState) -> None:
        if state != self.states[name]:
            self.states[name], self._has_changed = state, True
            self._write(name)

    def _write(self, name: str) -> None:
        with contained(self._tell_once):
            write_record(self._run.node_json(name), self.states[name], is_durable=False)

    def _tell_once(self, error: Exception) -> None:
        if reason_of(error) not in self._told:
            self._told.add(reason_of(error))
            self._observer.message(reason_of(error))
