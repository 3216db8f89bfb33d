"""Membership: which agents have joined a run, which are lost or back, and their messages.

A node that sends no heartbeat is taken for lost. A node that is back is used again.
"""

import selectors
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ..progress import ProgressObserver
from ..results.run_dir import RunDir
from .nodes import NodeHandle, NodeLost
from .protocol import Finish, FromAgent, Heartbeat, Hello, Ping, Pong, Problem, Timeouts
from .transport import Connection, heartbeats

REST = 1e-4  # seconds per node, for heartbeats to arrive together
AgentConnection = Connection[FromAgent]
Said = Iterator[tuple[NodeHandle, FromAgent | NodeLost]]


@dataclass
class _Member:
    """An agent that was started; it has joined once its ``Hello`` has come."""

    name: str  # of the node, as given at the start; its ``Hello`` has the node's own name
    connection: AgentConnection
    heard: float  # when its last message came, in monotonic seconds
    handle: NodeHandle | None = None
    ping: str = ""  # the id that a lost node must answer


class Membership:
    """The agents of one coordinator; for one thread, apart from ``beat``.

    Args:
        run: the run folder, with the logs of the agents.
        agents: the connections to the started agents, by the names of their nodes.
        wake: a file descriptor; when it is readable, ``receive`` stops waiting.
        timeouts: how long to wait for the agents.
        observer: is told which nodes are lost or back.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        run: RunDir,
        agents: Mapping[str, AgentConnection],
        wake: int,
        timeouts: Timeouts,
        observer: ProgressObserver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run, self._timeouts, self._observer, self._clock = run, timeouts, observer, clock
        self._members = [_Member(name, each, clock()) for name, each in agents.items()]
        self._handles: dict[int, NodeHandle] = {}  # by rank, of the nodes that have joined
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ, None)
        for member in self._members:
            self._selector.register(member.connection.fd, selectors.EVENT_READ, member)
        self._until = clock() + timeouts.join  # until then, nodes may still join
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(heartbeats(self.beat, self._timeouts.heartbeat))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        for member in self._members:
            member.connection.send(Finish())
            member.connection.close()
        self._selector.close()

    # Which nodes are there.

    def __getitem__(self, rank: int) -> NodeHandle:
        return self._handles[rank]

    @property
    def alive(self) -> list[int]:
        """The ranks of the nodes that can be used."""
        return [rank for rank, handle in self._handles.items() if handle.is_alive]

    @property
    def free(self) -> list[int]:
        """The ranks of the nodes on which nothing runs."""
        return [rank for rank, handle in self._handles.items() if handle.is_free]

    @property
    def is_gathering(self) -> bool:
        """Whether to wait for nodes that have not joined yet."""
        is_awaited = any(_is_awaited(member) for member in self._members)
        return is_awaited and self._clock() < self._until

    @property
    def may_grow(self) -> bool:
        """Whether more nodes may join or come back."""
        may_come = any(_is_awaited(member) or _is_silent(member) for member in self._members)
        return may_come and self._clock() < self._until

    # Messages.

    def beat(self) -> None:
        """Send a heartbeat to all agents; any thread may call this."""
        for member in self._members:
            member.connection.send_now(Heartbeat())

    def receive(self, timeout: float) -> Said:
        """Receive the messages of the nodes about their work, and the losses of nodes.

        It waits for at most ``timeout`` seconds. Silent nodes are taken for lost only after all
        waiting messages were read: a coordinator that could not read for a while finds them.
        """
        if self._selector.select(timeout):
            # Many heartbeats are read together: the coordinator shares its node's cores.
            time.sleep(len(self._members) * REST)
        now = self._clock()
        # A wait in which this process was stopped finds nothing, whatever was said meanwhile.
        for key, _ in self._selector.select(0):
            if isinstance(key.data, _Member):
                yield from self._read(key.data)
        for member in self._members:
            if now - member.heard > self._timeouts.silence:
                yield from self._lose(
                    member, f"has sent no heartbeat for {self._timeouts.silence:g} s"
                )

    def _read(self, member: _Member) -> Said:
        messages = member.connection.receive()
        for message in messages or ():
            handle = member.handle
            if handle is None:
                self._meet(member, message)
            elif not handle.is_alive:
                self._greet(member, handle, message)
            else:
                member.heard = self._clock()
                if isinstance(message, Problem):
                    self._observer.message(f"{handle.name}: {message.text}")
                else:
                    yield handle, message
        if messages is None:
            yield from self._forget(member)

    # Nodes that join, are lost, or are back.

    def _meet(self, member: _Member, message: FromAgent) -> None:
        match message:
            case Hello(rank, node, address):
                member.handle = NodeHandle(rank, node, address, member.connection.send)
                member.heard = self._clock()
                self._handles[rank] = member.handle
            case Problem(text):
                self._observer.message(f"{member.name}: {text}")

    def _greet(self, member: _Member, handle: NodeHandle, message: FromAgent) -> None:
        """Ask a lost node with a ``Ping``: only its ``Pong`` is sure to be a new message."""
        if not member.ping:
            member.ping = uuid.uuid4().hex
            member.connection.send(Ping(member.ping))
        elif isinstance(message, Pong) and message.id == member.ping:
            member.ping, member.heard = "", self._clock()
            handle.is_alive = True
            self._observer.message(f"{handle.name} is back")

    def _forget(self, member: _Member) -> Said:
        """Remove a node whose end of the pipes is closed: it will not be back."""
        self._selector.unregister(member.connection.fd)
        member.connection.close()
        if member.handle is None:
            log = self._run.node_log(member.name)
            words = _last_line(log)
            self._observer.message(f"{member.name} did not start: {words}(see {log})")
        else:
            yield from self._lose(member, "is gone: its connection broke")

    def _lose(self, member: _Member, reason: str) -> Said:
        handle = member.handle
        if handle is None or not handle.is_alive:
            return
        handle.is_alive, member.ping = False, ""
        self._until = self._clock() + self._timeouts.reconnect
        self._observer.message(f"{handle.name} {reason}")
        yield handle, NodeLost(reason)
        handle.benchmark = None


def _is_awaited(member: _Member) -> bool:
    return member.handle is None and not member.connection.is_closed


def _is_silent(member: _Member) -> bool:
    """Whether the node is lost but may come back, since its pipes are still open."""
    if member.handle is None:
        return False
    return not member.handle.is_alive and not member.connection.is_closed


def _last_line(path: Path) -> str:
    """The last line that an agent printed, followed by a blank; empty if it printed nothing."""
    with suppress(OSError):
        lines = path.read_text(errors="backslashreplace").strip().splitlines()
        if lines:
            return f"{lines[-1].strip()} "
    return ""
