"""The messages between a coordinator and its agents, one JSON record per line, and their silence.

Silence counts by a clock that stands still while this process does, as in a suspended job.
"""

import threading
import time
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ..events import Clock, Verdict
from ..machine.devices import Node
from ..node_settings import Settings
from ..plan.launch import Launch
from ..results.state import LaunchState

LONGEST = 5.0  # seconds between two readings of the clock that count


class _Message(msgspec.Struct, frozen=True, tag=True):
    """Base of all messages; the field ``type`` of their JSON names the class."""


class Heartbeat(_Message, frozen=True):
    """The sender is alive; both sides send it, an agent also while it checks its GPUs."""


# To an agent.


class FindPorts(_Message, frozen=True):
    """Find free TCP ports for a launch."""

    launch: str  # the id of the launch
    count: int
    among: tuple[int, int] | None = None  # the first and the last that it may have; None: any


class StartLaunch(_Message, frozen=True):
    """Run this node's part of a launch."""

    id: str
    launch: Launch  # with the processes of this node only


class StopLaunch(_Message, frozen=True):
    """Stop a launch, even one that has not started on this node yet."""

    id: str
    verdict: Verdict  # on the processes that it ends
    hard: bool  # SIGKILL at once


class Ping(_Message, frozen=True):
    """Ask a node for its clock; or one that was taken for lost, whether it is back."""

    id: str


class KeepEvidence(_Message, frozen=True):
    """Keep evidence of this node, with files that the coordinator has of it."""

    files: Mapping[str, str]  # texts by their names


class Finish(_Message, frozen=True):
    """End the agent: no more orders follow."""


# From an agent.


class Hello(_Message, frozen=True):
    """The first message of an agent, with its node."""

    rank: int
    node: Node
    address: str  # where the other nodes reach it
    facts: Mapping[str, str] = {}  # of its preflight, for a comparison with the other nodes
    witness: str = ""  # a file that it made in the run folder, for the coordinator to see
    warnings: tuple[str, ...] = ()  # of its preflight, a sentence each
    settings: Settings = {}


class Ports(_Message, frozen=True):
    """The answer to a ``FindPorts``: free ports."""

    launch: str
    ports: tuple[int, ...]


class LaunchEnded(_Message, frozen=True):
    """This node's part of a launch has ended."""

    id: str
    state: LaunchState


class EvidenceKept(_Message, frozen=True):
    """The answer to a ``KeepEvidence``."""

    problem: str = ""  # why it is not all there


class Pong(_Message, frozen=True):
    """The answer to a ``Ping``."""

    id: str
    clock: float = 0.0  # the node's, in seconds since the epoch


class Problem(_Message, frozen=True):
    """A message to the user; before a ``Hello``, the reason why the agent cannot serve."""

    text: str


class Signalled(_Message, frozen=True):
    """The agent received a signal that asks it to stop or warns of a time limit."""


class AgentEnded(_Message, frozen=True):
    """The agent has ended: its shell says so, where several agents share a connection."""

    status: int  # as a shell has it, so 128 and the number for a signal


ToAgent = Heartbeat | FindPorts | StartLaunch | StopLaunch | KeepEvidence | Ping | Finish
FromAgent = (
    Hello | Heartbeat | Ports | LaunchEnded | EvidenceKept | Pong | Problem | Signalled | AgentEnded
)


class Timeouts(Struct, frozen=True):
    """How long a coordinator and its agents wait for each other; all in seconds."""

    heartbeat: float = 1.0  # between two heartbeats
    silence: float = 20.0  # without a heartbeat, after which the other side is taken for lost
    join: float = 120.0  # for the nodes to join, from the start of the coordinator
    gather: float = 30.0  # until benchmarks begin without the nodes that have not joined
    notice: float = 10.0  # until the user is told which nodes have not joined
    clock: float = 1.0  # for a node to tell its clock, before benchmarks begin
    others: float = 10.0  # for the other nodes of a launch to fail by themselves, after the first
    report: float = 30.0  # after deadline and grace, for a node to end a launch and report that
    reconnect: float = 60.0  # after the silence, for the lost side to come back


class AwakeClock:
    """Monotonic seconds, without those in which this process was stopped.

    A stopped process cannot tell that it was; but someone reads this clock with every heartbeat, so
    only a stop makes the time between two readings long. Any thread may read it.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock, self._reading = clock, threading.Lock()
        self._last, self._awake = clock(), 0.0

    def __call__(self) -> float:
        with self._reading:
            now = self._clock()
            self._awake += min(now - self._last, LONGEST)
            self._last = now
            return self._awake
