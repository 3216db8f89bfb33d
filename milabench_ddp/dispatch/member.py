"""An agent that was started, and why its node is lost when it falls silent."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from .agent_process import AgentProcess
from .nodes import NodeHandle
from .protocol import FromAgent
from .transport import Connection

_TOGETHER = 0.15  # of the silence that is a loss: within that, nodes fall silent at once


class Member(Struct):
    """An agent that was started; it has joined once its ``Hello`` has come."""

    name: str  # of the node, as given at the start; its ``Hello`` has the node's own name
    log: Path  # of the agent
    connection: Connection[FromAgent]
    heard: float  # when its last message came, or when it was started, in monotonic seconds
    handle: NodeHandle | None = None
    ping: str = ""  # the id that the node must answer
    pinged: float = 0.0  # when it was sent, in seconds since the epoch
    clock_due: float | None = None  # until when to wait for its clock, in monotonic seconds
    is_refused: bool = False  # it cannot be used, though its pipes are open
    again_at: float | None = None  # when to start its agent again, in monotonic seconds
    tries: int = 0  # to do so, since it was there

    @property
    def process(self) -> AgentProcess:
        assert self.connection.process is not None
        return self.connection.process

    @property
    def is_awaited(self) -> bool:
        return self.handle is None and not self.is_refused and self.may_come

    @property
    def is_lost(self) -> bool:
        return self.handle is not None and not self.handle.is_alive

    @property
    def may_come(self) -> bool:
        return not self.connection.is_closed or self.again_at is not None


def why_silent(members: Sequence[Member], now: float, limit: float) -> str:
    """Why a node that is silent for ``limit`` seconds is lost.

    If all nodes but the first, which has the coordinator, fall silent at once, it may be itself.
    """
    own, *others = members
    silences = [now - each.heard for each in others if each.handle is not None]
    recent = [silence for silence in silences if silence < (1 + _TOGETHER) * limit]
    reason = f"has sent no heartbeat for {limit:g} s"
    if len(recent) < 2 or min(recent) < (1 - _TOGETHER) * limit:
        return reason
    return f"{reason}, nor has any node but {own.name}: the network of {own.name} may be cut"
