"""A node agent, as its leader sees it."""

from dataclasses import dataclass

from ..machine.devices import Node
from .channel import Channel


@dataclass
class Peer:
    """One node: where it is, and whether it lives."""

    rank: int
    channel: Channel
    node: Node
    address: str  # where the other nodes reach it
    heard: float  # when it last gave a sign of life, monotonic
    point: str | None = None  # what it runs
    alive: bool = True
    ping: str = ""  # of a lost one: the question that it has to answer

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.node.name

    @property
    def is_free(self) -> bool:
        """Whether it could run something."""
        return self.alive and self.point is None
