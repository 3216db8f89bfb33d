"""Membership: which agents have joined a run, which are lost or back, and their messages.

A node that sends no heartbeat is taken for lost. A node that is back is used again.
"""

import math
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Self

from msgspec.structs import replace

from ..errors import contained, reason_of
from ..events import Clock, Outcome
from ..progress import ProgressObserver
from ..results.node_state import NodeStatus
from ..results.run_dir import RunDir
from .agent_process import is_about_memory
from .member import Member, why_silent
from .node_records import NodeRecords
from .nodes import NodeHandle, NodeLost, Nodes, Said
from .protocol import (
    AgentEnded,
    AwakeClock,
    Finish,
    FromAgent,
    Heartbeat,
    Hello,
    Ping,
    Pong,
    Problem,
    Timeouts,
)
from .shared_folder import why_not_shared
from .slurm_queue import why_dead
from .standby import stand_by
from .transport import Connection, Streams, heartbeats

_SIGNAL = 5.0  # seconds: what ends an agent, as scancel does, may be about to stop this process
_TRIES = 3  # to start an agent that has never joined
_LONGEST = 300.0  # seconds until an agent is started again
REST = 1e-4  # seconds per node, for heartbeats to arrive together
AgentConnection = Connection[FromAgent]


class Membership(Nodes):
    """The agents of one coordinator; for one thread, apart from ``beat``.

    Args:
        agents: the connections to the started agents, by the names of their nodes.
        wake: a file descriptor; when it is readable, ``receive`` stops waiting.
        observer: is told which nodes do not join, are lost or back, or differ.
        clock: monotonic seconds; while this process is stopped, nodes are not silent.
        again: starts the agent of a node again and returns its connection; None if nothing does.
        spare: how many of the nodes stand by.
    """

    def __init__(
        self,
        run: RunDir,
        agents: Mapping[str, AgentConnection],
        wake: int,
        timeouts: Timeouts,
        observer: ProgressObserver,
        clock: Clock | None = None,
        again: Callable[[str], AgentConnection] | None = None,
        spare: int = 0,
    ) -> None:
        super().__init__()  # handles of nodes that have joined
        self._run, self._timeouts, self._observer = run, timeouts, observer
        self._clock = clock = clock or AwakeClock()
        self._again, self._spare = again, spare
        self._records = NodeRecords(run, list(agents), observer, clock)
        self._streams = Streams(wake)
        self._members: list[Member] = []
        for name, connection in agents.items():
            self._members.append(Member(name, run.node_log(name), connection, clock()))
            self._streams.attach(connection)
        self._until = clock() + timeouts.join  # until then, nodes may still join
        self._signalled = -math.inf  # when an agent was last ended by a signal, before it joined
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(heartbeats(self.beat, self._timeouts.heartbeat))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        self._records.tell(is_last=True)
        for stream in self._streams:
            stream.send(Finish())
        for member in self._members:
            self._streams.detach(member.connection)
        self._streams.close()

    # Which nodes are there.

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
        now = self._clock()
        may_come = any(m.may_come for m in self._members if m.is_awaited or m.is_lost)
        return (may_come and now < self._until) or now < self._signalled + _SIGNAL

    @property
    def problems(self) -> list[str]:
        return self._records.problems

    # Messages.

    def beat(self) -> None:
        """Send a heartbeat to all agents; any thread may call this."""
        self._clock()  # has to be read often
        for stream in self._streams:
            stream.send_now(Heartbeat())

    def receive(self, timeout: float) -> Said:
        """Receive the messages of the nodes about their work, and the losses of nodes.

        It waits for at most ``timeout`` seconds. Silent nodes are taken for lost only after all
        waiting messages were read: a coordinator that could not read for a while finds them.
        """
        if self._streams.wait(timeout):
            # Many heartbeats are read together: the coordinator shares its node's cores.
            time.sleep(len(self._members) * REST)
        now = self._clock()
        # A wait in which this process was stopped finds nothing, whatever was said meanwhile.
        ready = self._streams.read()
        for member in self._members:
            if member.connection.stream in ready:
                yield from self._read(member)
        for member in self._members:
            if member.again_at is not None and now >= member.again_at:
                self._start_again(member)
            limit = self._timeouts.silence
            if member.handle and member.handle.is_alive and now - member.heard > limit:
                self._plan_again(member, self._timeouts.reconnect / 2)  # it has as long to join
                yield from self._lose(member, why_silent(self._members, now, limit))
            if member.is_awaited and member.again_at is None:
                self._await(member, now - member.heard)
        if self._spare and not self.is_gathering:
            stand_by(self._handles.values(), self._records, len(self._members) - self._spare)
        self._records.tell()

    def _read(self, member: Member) -> Said:
        for message in member.connection.taken():
            handle = member.handle
            if isinstance(message, AgentEnded):
                member.process.told = message.status
                member.connection.has_ended = True
            elif handle is None or (member.is_lost and isinstance(message, Hello)):
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
                        delay = (time.time() - member.pinged) / 2
                        known = self._records.states[member.name]
                        offset = clock - (member.pinged + delay)
                        told = replace(known, clock_offset=offset, clock_error=delay)
                        handle.ahead = offset if abs(offset) > delay else 0.0
                        self._records.change(member.name, told)
                        member.ping, member.clock_due = "", None
                    case _:
                        yield handle, message
        if member.connection.has_ended and not member.connection.is_closed:
            yield from self._forget(member)

    # Nodes that join, are lost, or are back.

    def _await(self, member: Member, waited: float) -> None:
        if member.process.exit_status(0) is not None:  # another process may hold its pipes
            self._refuse(member, member.process.why_ended())
        elif self._records.states[member.name].status is not NodeStatus.FAILED:
            is_late = waited >= self._timeouts.join
            seconds = self._timeouts.join if is_late else self._timeouts.notice
            if waited >= seconds:
                status = NodeStatus.FAILED if is_late else NodeStatus.AWAITED
                reason = f"{'it ' * is_late}has not answered for {seconds:g} s (see {member.log})"
                self._records.set(member.name, status, reason, member.process.last_lines())

    def _refuse(self, member: Member, reason: str) -> None:
        member.is_refused = True
        self._fail(member, reason)
        member.connection.send(Finish())

    def _fail(self, member: Member, reason: str) -> None:
        self._records.set(member.name, NodeStatus.FAILED, reason, member.process.last_lines())
        if (member.process.exit_status(0) or 0) < 0:
            self._signalled = self._clock()

    def _meet(self, member: Member, message: FromAgent) -> None:
        match message:
            case Heartbeat():  # it checks its GPUs, which can take minutes
                member.heard = self._clock()
                self._until = max(self._until, member.heard + self._timeouts.silence)
            case Problem(text):
                self._refuse(member, text)
            case Hello(rank, node, address, witness=witness):
                if reason := why_not_shared(self._run, witness) or self._why_other(member, rank):
                    self._refuse(member, reason)
                    return
                send = member.connection.send
                handle = self._handles.setdefault(rank, NodeHandle(rank, node, address, send))
                handle.node, handle.address, handle.send = node, address, send
                handle.is_alive, handle.stands_by = True, self._spare > 0
                member.handle, member.heard, member.process.is_lost = handle, self._clock(), False
                self._records.join(member.name, message)
                member.clock_due = self._clock() + self._timeouts.clock
                self._ping(member)

    def _why_other(self, member: Member, rank: int) -> str:
        """Why a node with this rank is not that which was started; empty if it is."""
        if 0 <= rank < len(self._members) and self._members[rank] is member:
            return ""
        known = self._handles.get(rank)
        also = f", as {known.name} does" if known else f" of {len(self._members)}"
        return f"it says that it is node {rank}{also}"

    def _ping(self, member: Member) -> None:
        member.ping, member.pinged = uuid.uuid4().hex, time.time()
        member.connection.send(Ping(member.ping))

    def _greet(self, member: Member, handle: NodeHandle, message: FromAgent) -> None:
        """Ask a lost node with a ``Ping``: only its ``Pong`` is sure to be a new message."""
        if not member.ping:
            self._ping(member)
        elif isinstance(message, Pong) and message.id == member.ping:
            member.ping, member.heard, member.again_at = "", self._clock(), None
            handle.is_alive, member.process.is_lost = True, False
            self._records.set(member.name, NodeStatus.JOINED)

    def _forget(self, member: Member) -> Said:
        self._streams.detach(member.connection)
        process = member.process
        if member.handle is not None:
            self._plan_again(member)
            reason, error = process.why_lost()
            outcome = Outcome.FAILED if is_about_memory(error) else Outcome.LOST
            yield from self._lose(member, reason, outcome)
        elif process.is_step and process.told is None and member.tries < _TRIES:
            self._plan_again(member)  # Slurm has ended its step, as for another node of it
        elif not member.is_refused:
            state = why_dead(member.name) if process.is_step and process.told is None else ""
            self._fail(member, ": ".join(filter(None, (state, process.why_ended()))))

    def _plan_again(self, member: Member, delay: float = 0.0) -> None:
        """Start the agent of a node again after a while, which grows with each time."""
        if self._again is not None and not member.is_refused:
            member.again_at = self._clock() + max(delay, min(2.0**member.tries, _LONGEST))
            member.tries += 1

    def _start_again(self, member: Member) -> None:
        assert self._again is not None
        self._streams.detach(member.connection)
        member.connection, member.again_at = self._again(member.name), None
        member.heard, member.ping, member.process.is_lost = self._clock(), "", True
        self._streams.attach(member.connection)

    def _lose(self, member: Member, reason: str, outcome: Outcome = Outcome.LOST) -> Said:
        handle = member.handle
        if handle is None or not handle.is_alive:
            return
        handle.is_alive, member.process.is_lost = False, True
        member.ping, member.clock_due = "", None
        self._until = self._clock() + self._timeouts.reconnect
        self._records.set(member.name, NodeStatus.LOST, reason)
        yield handle, NodeLost(reason, outcome)
        handle.benchmark = None
