"""The messages between a coordinator and the agents of its nodes: one JSON record a line."""

from dataclasses import dataclass

import msgspec

from ..machine.devices import Node
from ..plan.launch import Launch
from ..results.state import LaunchState


class _Message(msgspec.Struct, frozen=True, tag=True):
    """Its JSON names its class in the field ``type``."""


class Heartbeat(_Message, frozen=True, tag=True):
    """The sender lives; both sides send it."""


# To an agent.


class FindPorts(_Message, frozen=True, tag=True):
    """Find free TCP ports for a launch."""

    launch: str  # the id of the launch
    count: int


class StartLaunch(_Message, frozen=True, tag=True):
    """Run this node's part of a launch."""

    id: str
    launch: Launch  # with the processes of this node alone


class StopLaunch(_Message, frozen=True, tag=True):
    """Stop a launch, also one that has not been started here yet."""

    id: str
    reason: str
    hard: bool  # SIGKILL at once


class Ping(_Message, frozen=True, tag=True):
    """A node that was taken for lost is asked whether it is back."""

    id: str


class Finish(_Message, frozen=True, tag=True):
    """Nothing more will be asked."""


# From an agent.


class Hello(_Message, frozen=True, tag=True):
    """The first message: which node this is."""

    rank: int
    node: Node
    address: str  # where the other nodes reach it


class Ports(_Message, frozen=True, tag=True):
    """Free ports, as they were asked for."""

    launch: str
    ports: tuple[int, ...]


class LaunchEnded(_Message, frozen=True, tag=True):
    """How this node's part of a launch ended."""

    id: str
    state: LaunchState


class Pong(_Message, frozen=True, tag=True):
    """The answer to a ``Ping``."""

    id: str


class Problem(_Message, frozen=True, tag=True):
    """Something that a person should know; before a ``Hello``, why the node cannot serve."""

    text: str


class Signalled(_Message, frozen=True, tag=True):
    """The agent got a signal that asks it to stop, or that warns of a time limit."""

    signal: str


ToAgent = Heartbeat | FindPorts | StartLaunch | StopLaunch | Ping | Finish
FromAgent = Hello | Heartbeat | Ports | LaunchEnded | Pong | Problem | Signalled


@dataclass(frozen=True)
class Timeouts:
    """How long coordinator and agents wait for one another; all in seconds."""

    heartbeat: float = 1.0  # between two
    silence: float = 20.0  # without one, the other side is taken for lost
    join: float = 120.0  # for the nodes to come, from the start of the coordinator
    others: float = 10.0  # for the other nodes of a launch to fail by themselves after the first
    report: float = 30.0  # beyond its deadline and grace, for a node to say how a launch ended
    reconnect: float = 60.0  # beyond the silence, for the lost side to be heard again
