"""An agent that was started."""

from pathlib import Path

from msgspec import Struct

from .agent_process import AgentProcess
from .nodes import NodeHandle
from .protocol import FromAgent
from .transport import Connection


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
