"""The nodes as a coordinator sees them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from msgspec import Struct

from ..events import Outcome
from ..machine.devices import Node
from .protocol import FromAgent, ToAgent


class NodeHandle(Struct):
    """A node: its address, whether it is alive, and the benchmark that runs on it."""

    rank: int
    node: Node
    address: str  # where the other nodes reach it
    send: Callable[[ToAgent], bool]
    benchmark: str | None = None  # the name of the one that runs on it
    is_alive: bool = True
    ahead: float = 0.0  # seconds that its clock is ahead of the coordinator's, as far as is known
    stands_by: bool = False  # for another one that is lost

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def is_free(self) -> bool:
        return self.is_usable and self.benchmark is None

    @property
    def is_usable(self) -> bool:
        return self.is_alive and not self.stands_by


class NodeLost(Struct, frozen=True):
    """A node is lost; the reason is written after its name: ``lost its connection``."""

    reason: str
    outcome: Outcome = Outcome.LOST  # of what ran there


Said = Iterator[tuple[NodeHandle, FromAgent | NodeLost]]


class Nodes(ABC):
    """Base of the nodes of one coordinator: this host in process, or agents behind pipes.

    Heartbeats are exchanged inside its block.
    """

    def __init__(self, handles: Sequence[NodeHandle] = ()) -> None:
        self._handles = {handle.rank: handle for handle in handles}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:  # noqa: B027  (this host needs none)
        """Tell the nodes to finish, and close the connections."""

    def __getitem__(self, rank: int) -> NodeHandle:
        return self._handles[rank]

    @property
    def alive(self) -> list[int]:
        """The ranks of the nodes that can be used."""
        return [rank for rank, handle in self._handles.items() if handle.is_usable]

    @property
    def free(self) -> list[int]:
        """The ranks of the nodes on which nothing runs."""
        return [rank for rank, handle in self._handles.items() if handle.is_free]

    @property
    def is_gathering(self) -> bool:
        """Whether to wait for nodes that have not joined yet."""
        return False

    @property
    def may_grow(self) -> bool:
        """Whether more nodes may join or come back."""
        return False

    @property
    def problems(self) -> Sequence[str]:
        """Why nodes cannot be used, a sentence each."""
        return ()

    @abstractmethod
    def receive(self, timeout: float) -> Said:
        """The messages of the nodes and their losses; waits for at most ``timeout`` seconds."""
