"""The nodes of a run: one file ``nodes/<node>.json`` for each, and in what they differ.

The coordinator of the nodes writes them; ``run``, ``watch`` and ``report`` read them.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import StrEnum
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ..codec import write_record
from ..config.audited import audited, text_of_values
from ..errors import RunDirError
from ..grouping import grouped
from ..hostlist import natural, shown_nodes
from ..node_settings import Settings
from .defects import OnDefect, ignore, read_unless_damaged
from .run_dir import RunDir

# in the folder of a validation that has ended, a node on each line
PASSING_NODES, FAILING_NODES = "passing_nodes.txt", "failing_nodes.txt"
NODE_ORDER = "node_order.txt"
CLOCK_LIMIT = 0.5  # seconds by which a clock may be off before that is told


class NodeStatus(StrEnum):
    """Whether a node takes part in a run."""

    AWAITED = "awaited"  # its agent was started, and has not answered yet
    JOINED = "joined"
    FAILED = "failed"  # it never joined
    LOST = "lost"  # it had joined
    LEFT_OUT = "left out"  # of an earlier attempt, or another one took its place


class NodeState(Struct, frozen=True):
    """A node of a run, and the facts of its preflight: the file ``nodes/<node>.json``."""

    name: str
    status: NodeStatus = NodeStatus.AWAITED
    reason: str = ""  # why it has not joined or is lost
    log: tuple[str, ...] = ()  # the last lines of its agent, where it has not joined
    facts: Mapping[str, str] = {}
    clock_offset: float | None = None  # seconds that its clock is ahead of its coordinator's
    clock_error: float = 0.0  # the uncertainty of that, in seconds
    warnings: tuple[str, ...] = ()  # of its preflight: what some benchmarks will lack there
    losses: tuple[str, ...] = ()  # problems that it had before, also in earlier attempts
    job: str = ""  # the id of its Slurm job
    settings: Settings = {}  # of a validation

    @property
    def is_expected(self) -> bool:
        return self.status is NodeStatus.AWAITED and not self.reason

    @property
    def problem(self) -> str:
        """Why it does not take part, as it is said after its name."""
        match self.status:
            case NodeStatus.FAILED:
                return f"did not start: {self.reason}"
            case NodeStatus.LOST | NodeStatus.AWAITED if self.reason:
                return self.reason
            case _:
                return ""

    @property
    def all_losses(self) -> tuple[str, ...]:
        """Its past problems, and the present one; coming late is not a problem."""
        is_lost = self.status in (NodeStatus.FAILED, NodeStatus.LOST)
        return tuple(dict.fromkeys([*self.losses, *[self.problem][:is_lost]]))


class NodesSaid(Struct, frozen=True):
    """What is said of one node, or of several of which the same is said."""

    sentence: str
    nodes: tuple[str, ...]  # in their natural order
    first: NodeState


def said_together(said: Iterable[tuple[NodeState, str]]) -> Iterator[NodesSaid]:
    """Sentences about nodes, of which each is given what follows its name: one for all alike."""
    groups: dict[str, list[tuple[NodeState, str]]] = {}
    for node, text in said:
        key = re.sub(rf"\b{re.escape(node.name)}\b", "", text) if node.name in text else text
        groups.setdefault(key, []).append((node, text))
    for group in groups.values():
        first, text = group[0]
        names = tuple(sorted((node.name for node, _ in group), key=natural))
        who = names[0]
        if len(names) > 1:
            each = "each of " if text.startswith(("has ", "is ")) else ""
            who = f"{each}{len(names)} nodes ({shown_nodes(names)})"
        gap = "" if text.startswith(":") else " "
        yield NodesSaid(f"{who}{gap}{text}", names, first)


def leave_out(state: NodeState) -> NodeState:
    """The state of a node that takes no part any more."""
    return replace(state, status=NodeStatus.LEFT_OUT, reason="", log=(), losses=state.all_losses)


def begin_attempt(run: RunDir, others: Container[str] = ()) -> None:
    """Keep what nodes did in an earlier attempt as of the past, but those of other jobs."""
    for name in (PASSING_NODES, FAILING_NODES, NODE_ORDER):  # it may judge otherwise
        with suppress(OSError):
            (run.path / name).unlink(missing_ok=True)
    for name, state in read_nodes(run).items():
        if state.job not in others:
            with suppress(RunDirError):  # a full disk is told where a state is lost by it
                write_record(run.node_json(name), leave_out(state), is_durable=False)


def problems(nodes: Iterable[NodeState]) -> Iterator[NodesSaid]:
    return said_together((node, node.problem) for node in nodes if node.problem)


class NodeDifference(Struct, frozen=True):
    """Something in which a node differs from most nodes."""

    sentence: str
    key: str  # the fact; ``$NAME`` is a variable of the environment
    nodes: tuple[str, ...]  # those that differ
    values: Mapping[str, str] = {}  # of all nodes
    setting: str = ""  # its name, if it is one of `settings.yaml`


def read_nodes(run: RunDir, on_defect: OnDefect = ignore) -> dict[str, NodeState]:
    """The nodes of a run by name; none where a run has no agents, or is of an earlier version."""
    return {
        path.stem: state
        for path in sorted(run.nodes.glob("*.json"), key=lambda path: natural(path.stem))
        if (state := read_unless_damaged(path, NodeState, on_defect))
    }


def differences(nodes: Iterable[NodeState]) -> Iterator[NodeDifference]:
    """In what nodes differ from most nodes: facts, settings, then clocks that are off."""
    nodes = list(nodes)
    met = [node for node in nodes if node.facts]
    for fact in dict.fromkeys(fact for node in met for fact in node.facts):
        missing = "not set" if fact.startswith("$") else "not there"
        values = {node.name: node.facts.get(fact, missing) for node in met}
        if len(set(values.values())) > 1:
            yield _difference(fact, values)
    yield from _different_settings(nodes)
    for node in met:
        offset = node.clock_offset
        if offset is not None and abs(offset) - node.clock_error > CLOCK_LIMIT:
            side = f"{abs(offset):.1f} s {'ahead of' if offset > 0 else 'behind'}"
            sentence = f"nodes differ: the clock of {node.name} is {side} the coordinator's"
            values = {node.name: f"{offset:.3f}"}
            yield NodeDifference(sentence, "the clock", (node.name,), values)


def _different_settings(nodes: Iterable[NodeState]) -> Iterator[NodeDifference]:
    """The settings that should be the same; what a node does not tell is no difference."""
    told = [node for node in nodes if node.settings]
    for name, setting in audited().items() if told else ():
        known = {node.name: node.settings[name] for node in told if name in node.settings}
        values = {node: text_of_values(found) for node, found in known.items()}
        if setting.same and len(set(values.values())) > 1:
            yield replace(_difference(setting.what, values), setting=name)


def _difference(fact: str, values: Mapping[str, str]) -> NodeDifference:
    groups = grouped((value, name) for name, value in values.items())
    usual, *others = sorted(groups.values(), key=len, reverse=True)
    parts = [f"{values[names[0]]} on {shown_nodes(names)}" for names in others]
    has_majority = all(len(names) < len(usual) for names in others)
    rest = f"the other {len(usual)} nodes"
    where = rest if has_majority and len(usual) > 1 else shown_nodes(usual)
    sentence = f"nodes differ: {fact} is {', '.join(parts)}, and {values[usual[0]]} on {where}"
    return NodeDifference(sentence, fact, tuple(chain.from_iterable(others)), values)
