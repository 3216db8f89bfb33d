"""Nodes behind pipes: which have come, which are lost, which are back, and what they say.

A node that sends no heartbeat is taken for lost. One that comes back is used again.
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

REST = 1e-4  # seconds for each node, between two times that the nodes are heard
AgentConnection = Connection[FromAgent]
Said = Iterator[tuple[NodeHandle, FromAgent | NodeLost]]


@dataclass
class _Member:
    """An agent that was started: it counts once it has said hello."""

    name: str  # as it was started; after its hello, the node's own name
    connection: AgentConnection
    heard: float  # when it last said something, monotonic
    handle: NodeHandle | None = None
    ping: str = ""  # of a lost one: the question that it has to answer


class Membership:
    """The agents of one coordinator; all is for one thread, but for the heartbeats it sends.

    Args:
        run: where the agents have their logs.
        agents: the connections to those that were started, by the names of their nodes.
        wake: a descriptor which ends the wait of ``receive`` when it is readable.
        timeouts: how long they are waited for.
        observer: is told who comes back and who goes.
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
        self._handles: dict[int, NodeHandle] = {}  # by rank, of those that have said hello
        self._selector = selectors.DefaultSelector()
        self._selector.register(wake, selectors.EVENT_READ, None)
        for member in self._members:
            self._selector.register(member.connection.fd, selectors.EVENT_READ, member)
        self._until = clock() + timeouts.join  # nodes that are not there yet may still come
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

    # Who is there.

    def __getitem__(self, rank: int) -> NodeHandle:
        return self._handles[rank]

    @property
    def alive(self) -> list[int]:
        """The ranks of the nodes that can be used."""
        return [rank for rank, handle in self._handles.items() if handle.is_alive]

    @property
    def free(self) -> list[int]:
        """Those of them on which nothing runs."""
        return [rank for rank, handle in self._handles.items() if handle.is_free]

    @property
    def is_gathering(self) -> bool:
        """Whether nodes that have never been there are still waited for."""
        is_awaited = any(_is_awaited(member) for member in self._members)
        return is_awaited and self._clock() < self._until

    @property
    def may_grow(self) -> bool:
        """Whether more nodes may come, or come back, than are there now."""
        may_come = any(_is_awaited(member) or _is_silent(member) for member in self._members)
        return may_come and self._clock() < self._until

    # What they say.

    def beat(self) -> None:
        """Send all a heartbeat; any thread may."""
        for member in self._members:
            member.connection.send_now(Heartbeat())

    def receive(self, timeout: float) -> Said:
        """What living nodes say of their work, waiting for at most ``timeout`` seconds.

        Only when all that lay there was read, silent nodes are given up: a coordinator that was
        kept from listening finds what was said meanwhile.
        """
        if self._selector.select(timeout):
            # Many heartbeats are heard together: the coordinator shares its node's cores.
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

    # Coming and going.

    def _meet(self, member: _Member, message: FromAgent) -> None:
        match message:
            case Hello(rank, node, address):
                member.handle = NodeHandle(rank, node, address, member.connection.send)
                member.heard = self._clock()
                self._handles[rank] = member.handle
            case Problem(text):
                self._observer.message(f"{member.name}: {text}")

    def _greet(self, member: _Member, handle: NodeHandle, message: FromAgent) -> None:
        """A message of a lost node may have been on its way for long: it is back on a pong."""
        if not member.ping:
            member.ping = uuid.uuid4().hex
            member.connection.send(Ping(member.ping))
        elif isinstance(message, Pong) and message.id == member.ping:
            member.ping, member.heard = "", self._clock()
            handle.is_alive = True
            self._observer.message(f"{handle.name} is back")

    def _forget(self, member: _Member) -> Said:
        """Its end of the pipes is closed: it will not be back."""
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
    """Whether it is lost, but may be back: its pipes are still open."""
    if member.handle is None:
        return False
    return not member.handle.is_alive and not member.connection.is_closed


def _last_line(path: Path) -> str:
    """The last line that an agent printed, and a blank; nothing where it printed nothing."""
    with suppress(OSError):
        lines = path.read_text(errors="backslashreplace").strip().splitlines()
        if lines:
            return f"{lines[-1].strip()} "
    return ""
