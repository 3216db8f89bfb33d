"""The states of the nodes of one coordinator: on disk, and told to the user."""

import time
from collections.abc import Mapping

from msgspec.structs import replace

from ..codec import write_record
from ..errors import contained, reason_of
from ..events import Clock
from ..progress import ProgressObserver
from ..results.node_state import (
    NodeState,
    NodeStatus,
    differences,
    problems,
    read_nodes,
    said_together,
)
from ..results.run_dir import RunDir
from ..results.state import own_id
from .protocol import Hello

PATIENCE = 5.0  # seconds for more nodes to have the same problem, while some are expected


class NodeTeller:
    """Tells an observer what becomes of nodes, and in what they differ; each sentence once."""

    def __init__(self, observer: ProgressObserver, clock: Clock = time.monotonic) -> None:
        self._observer, self._clock, self._due = observer, clock, clock() + PATIENCE
        self._known: dict[str, NodeState] = {}
        self._differences: set[str] = set()

    def ignore(self, nodes: Mapping[str, NodeState]) -> None:
        """Take note of the states in which an earlier attempt has left nodes."""
        self._known.update(nodes)

    def tell(self, nodes: Mapping[str, NodeState], *, is_last: bool = False) -> bool:
        """Tell what has changed, but differences once all have been heard of; whether it did.

        While nodes are expected it waits for those to which the same will happen.
        """
        is_open = any(state.is_expected for state in nodes.values())
        if is_open and not is_last and self._clock() < self._due:
            return False
        self._due = self._clock() + PATIENCE
        changes: list[tuple[NodeState, str]] = []
        for name, state in nodes.items():
            before = self._known.get(name, NodeState(state.name))
            new = [f": {each}" for each in state.warnings if each not in before.warnings]
            changes += [(state, text) for text in (_change(before, state), *new) if text]
        for said in said_together(changes):
            log = [line for line in said.first.log if line.strip() not in said.first.reason]
            self._observer.message("\n    ".join([said.sentence, *log]))
        self._known = dict(nodes)
        if is_open:
            return True
        for each in differences(nodes.values()):
            if each.sentence not in self._differences:
                self._differences.add(each.sentence)
                self._observer.message(each.sentence)
        return True


def _change(before: NodeState, now: NodeState) -> str:
    if (before.status, before.reason) == (now.status, now.reason):
        return ""
    if now.status is NodeStatus.JOINED:
        if before.status is NodeStatus.LOST:
            return "is back"
        return "has joined" if before.reason else ""
    if now.status is NodeStatus.LEFT_OUT and now.losses:
        was_told = before.status is NodeStatus.FAILED
        return "is left out" if was_told else f"{now.losses[-1]}; it is left out"
    return now.problem


class NodeRecords:
    """Keeps the states of nodes, writes each change to disk, and tells it."""

    def __init__(
        self,
        run: RunDir,
        names: list[str],
        observer: ProgressObserver,
        clock: Clock = time.monotonic,
    ) -> None:
        self._run, self._observer, self._teller = run, observer, NodeTeller(observer, clock)
        self._told: set[str] = set()  # what hindered the writing of states
        self._has_changed = False  # since the last ``tell``
        before = dict.fromkeys(names, NodeState("")) | read_nodes(run)
        self.states = {}
        for name in names:
            self.states[name] = NodeState(name, losses=before[name].all_losses, job=own_id())
            self._write(name)

    @property
    def problems(self) -> list[str]:
        return [said.sentence for said in problems(self.states.values())]

    def set(
        self, name: str, status: NodeStatus, reason: str = "", log: tuple[str, ...] = ()
    ) -> None:
        self.change(name, replace(self.states[name], status=status, reason=reason, log=log))

    def join(self, name: str, said: Hello) -> None:
        facts, settings = said.facts, said.settings
        state = NodeState(said.node.name, NodeStatus.JOINED, facts=facts, settings=settings)
        self.change(name, replace(state, warnings=said.warnings))

    def tell(self, *, is_last: bool = False) -> None:
        if self._has_changed:  # comparing 1,000 nodes at every heartbeat takes a core
            self._has_changed = not self._teller.tell(self.states, is_last=is_last)

    def change(self, name: str, state: NodeState) -> None:
        before = self.states[name]
        is_past = state.status in (NodeStatus.JOINED, NodeStatus.LEFT_OUT)
        losses = before.all_losses if is_past else before.losses
        state = replace(state, losses=losses, job=before.job)
        if state != before:
            self.states[name], self._has_changed = state, True
            self._write(name)

    def _write(self, name: str) -> None:
        with contained(self._tell_once):
            write_record(self._run.node_json(name), self.states[name], is_durable=False)

    def _tell_once(self, error: Exception) -> None:
        if reason_of(error) not in self._told:
            self._told.add(reason_of(error))
            self._observer.message(reason_of(error))
