"""Membership: which agents have joined a run, which are lost or back, and their messages.

A node that sends no heartbeat is taken for lost. A node that is back is used again.
"""

import selectors
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from ..errors import contained, reason_of
from ..events import Outcome
from ..progress import ProgressObserver
from ..results.node_state import NodeState, NodeStatus
from ..results.run_dir import RunDir
from .agent_process import AgentProcess, is_about_memory
from .node_records import NodeRecords
from .nodes import NodeHandle, NodeLost
from .protocol import AwakeClock, Finish, FromAgent, Heartbeat, Hello, Ping, Pong, Problem, Timeouts
from .shared_folder import why_not_shared
from .transport import Connection, heartbeats

REST = 1e-4  # seconds per node, for heartbeats to arrive together
AgentConnection = Connection[FromAgent]
Said = Iterator[tuple[NodeHandle, FromAgent | NodeLost]]


class _Member(Struct):
    """An agent that was started; it has joined once its ``Hello`` has come."""

    name: str  # of the node, as given at the start; its ``Hello`` has the node's own name
    log: Path  # of the agent
    connection: AgentConnection
    heard: float  # when its last message came, or when it was started, in monotonic seconds
    handle: NodeHandle | None = None
    ping: str = ""  # the id that the node must answer
    pinged: float = 0.0  # when it was sent, in seconds since the epoch
    clock_due: float | None = None  # until when to wait for its clock, in monotonic seconds
    is_refused: bool = False  # it cannot be used, though its pipes are open

    @property
    def process(self) -> AgentProcess:
        return self.connection.process or AgentProcess(None, self.log)

    @property
    def is_awaited(self) -> bool:
        return self.handle is None and not self.is_refused and not self.connection.is_closed

    @property
    def is_silent(self) -> bool:
        if self.handle is None:
            return False
        return not self.handle.is_alive and not self.connection.is_closed


class Membership:
    """The agents of one coordinator; for one thread, apart from ``beat``.

    Args:
        agents: the connections to the started agents, by the names of their nodes.
        wake: a file descriptor; when it is readable, ``receive`` stops waiting.
        observer: is told which nodes do not join, are lost or back, or differ.
        clock: monotonic seconds; while this process is stopped, nodes are not silent.
    """

    def __init__(
        self,
        run: RunDir,
        agents: Mapping[str, AgentConnection],
        wake: int,
        timeouts: Timeouts,
        observer: ProgressObserver,
        clock: Callable[[], float] | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._run, self._timeouts, self._observer = run, timeouts, observer
        self._clock = clock = clock or AwakeClock()
        self._wall_clock = wall_clock
        self._records = NodeRecords(run, list(agents), observer)
        self._members = []
        for name, connection in agents.items():
            self._members.append(_Member(name, run.node_log(name), connection, clock()))
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
        return [rank for rank, handle in self._handles.items() if handle.is_alive]

    @property
    def free(self) -> list[int]:
        return [rank for rank, handle in self._handles.items() if handle.is_free]

    @property
    def is_gathering(self) -> bool:
        now = self._clock()
        due = [each.clock_due for each in self._members if each.clock_due is not None]
        if any(now < each for each in due):
            return True
        awaited = [member.heard for member in self._members if member.is_awaited]
        return bool(awaited) and now < min(self._until, max(awaited) + self._timeouts.gather)

    @property
    def may_grow(self) -> bool:
        may_come = any(member.is_awaited or member.is_silent for member in self._members)
        return may_come and self._clock() < self._until

    @property
    def problems(self) -> list[str]:
        return self._records.problems

    # Messages.

    def beat(self) -> None:
        """Send a heartbeat to all agents; any thread may call this."""
        self._clock()  # has to be read often
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
            if member.is_awaited:
                self._await(member, now - member.heard)
        self._records.tell()

    def _read(self, member: _Member) -> Said:
        messages = member.connection.receive()
        for message in messages or ():
            handle = member.handle
            if handle is None:
                errors: list[Exception] = []
                with contained(errors.append):
                    self._meet(member, message)
                for error in errors:
                    self._refuse(member, reason_of(error))
            elif not handle.is_alive:
                self._greet(member, handle, message)
            else:
                member.heard = self._clock()
                match message:
                    case Problem(text):
                        self._observer.message(f"{handle.name}: {text}")
                    case Pong(id, clock) if id == member.ping:
                        delay = (self._wall_clock() - member.pinged) / 2
                        known = self._records.states[member.name]
                        offset = clock - (member.pinged + delay)
                        told = replace(known, clock_offset=offset, clock_error=delay)
                        self._records.change(member.name, told)
                        member.ping, member.clock_due = "", None
                    case _:
                        yield handle, message
        if messages is None:
            yield from self._forget(member)

    # Nodes that join, are lost, or are back.

    def _await(self, member: _Member, waited: float) -> None:
        timeouts = self._timeouts
        if member.process.exit_status(0) is not None:  # another process may hold its pipes
            self._refuse(member, member.process.why_ended())
        elif waited >= timeouts.join:
            self._unanswered(member, NodeStatus.FAILED, timeouts.join)
        elif waited >= timeouts.notice:
            self._unanswered(member, NodeStatus.AWAITED, timeouts.notice)

    def _unanswered(self, member: _Member, status: NodeStatus, seconds: float) -> None:
        if self._records.states[member.name].status is NodeStatus.FAILED:
            return
        reason = f"has not answered for {seconds:g} s (see {member.log})"
        if status is NodeStatus.FAILED:
            reason = f"it {reason}"
        self._records.set(member.name, status, reason, member.process.last_lines())

    def _refuse(self, member: _Member, reason: str) -> None:
        member.is_refused = True
        self._fail(member, reason)
        member.connection.send(Finish())

    def _fail(self, member: _Member, reason: str) -> None:
        self._records.set(member.name, NodeStatus.FAILED, reason, member.process.last_lines())

    def _meet(self, member: _Member, message: FromAgent) -> None:
        match message:
            case Heartbeat():  # it checks its GPUs, which can take minutes
                member.heard = self._clock()
                self._until = max(self._until, member.heard + self._timeouts.silence)
            case Problem(text):
                self._refuse(member, text)
            case Hello(rank, node, address, facts, witness, warnings):
                if reason := why_not_shared(self._run, witness) or self._why_other(rank):
                    self._refuse(member, reason)
                    return
                member.handle = NodeHandle(rank, node, address, member.connection.send)
                member.heard = self._clock()
                self._handles[rank] = member.handle
                joined = NodeState(node.name, NodeStatus.JOINED, facts=facts, warnings=warnings)
                self._records.change(member.name, joined)
                member.clock_due = self._clock() + self._timeouts.clock
                self._ping(member)

    def _why_other(self, rank: int) -> str:
        """Why a node with this rank is not one of those that were started; empty if it is."""
        if not 0 <= rank < len(self._members):
            return f"it says that it is node {rank} of {len(self._members)}"
        known = self._handles.get(rank)
        return "" if known is None else f"it says that it is node {rank}, as {known.name} does"

    def _ping(self, member: _Member) -> None:
        member.ping, member.pinged = uuid.uuid4().hex, self._wall_clock()
        member.connection.send(Ping(member.ping))

    def _greet(self, member: _Member, handle: NodeHandle, message: FromAgent) -> None:
        """Ask a lost node with a ``Ping``: only its ``Pong`` is sure to be a new message."""
        if not member.ping:
            self._ping(member)
        elif isinstance(message, Pong) and message.id == member.ping:
            member.ping, member.heard = "", self._clock()
            handle.is_alive = True
            self._records.set(member.name, NodeStatus.JOINED)

    def _forget(self, member: _Member) -> Said:
        self._selector.unregister(member.connection.fd)
        member.connection.close()
        if member.handle is not None:
            error = member.process.slurm_error()
            reason = f"is gone: its connection broke{error and f': {error}'}"
            outcome = Outcome.FAILED if is_about_memory(error) else Outcome.LOST
            yield from self._lose(member, reason, outcome)
        elif not member.is_refused:
            self._fail(member, member.process.why_ended())

    def _lose(self, member: _Member, reason: str, outcome: Outcome = Outcome.LOST) -> Said:
        handle = member.handle
        if handle is None or not handle.is_alive:
            return
        handle.is_alive, member.ping, member.clock_due = False, "", None
        self._until = self._clock() + self._timeouts.reconnect
        self._records.set(member.name, NodeStatus.LOST, reason)
        yield handle, NodeLost(reason, outcome)
        handle.benchmark = None
