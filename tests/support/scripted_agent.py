"""The agent's end of a connection, scripted by a test."""

import select
import time

from milabench_ddp.dispatch.protocol import (
    FromAgent,
    Heartbeat,
    Hello,
    LaunchEnded,
    Ping,
    Pong,
    StartLaunch,
    ToAgent,
)
from milabench_ddp.dispatch.transport import Connection
from tests.support.dispatch import connections, end, node


class ScriptedAgent:
    """An agent without a process; it works in the thread of the test.

    Args:
        beside: one whose pipes it shares, as the tasks of a step do, labelled with their ranks.
    """

    def __init__(self, rank: int, beside: "ScriptedAgent | None" = None) -> None:
        self.rank, self.name = rank, f"n{rank}"
        if beside is None:
            self.coordinator_end, self._connection = connections()
        else:
            ours, theirs = beside.coordinator_end, beside._connection
            ours.label = theirs.label = beside.rank
            self.coordinator_end = Connection(ours.stream, FromAgent, rank)
            self._connection = Connection(theirs.stream, ToAgent, rank)
        self.clock_offset = 0.0  # seconds that its clock is ahead
        self.warnings: tuple[str, ...] = ()  # of its preflight
        self._heard: list[ToAgent] = []  # and not looked at
        self._has_told_clock = False

    def say(self, message: FromAgent) -> None:
        assert self._connection.send(message)

    def hello(self, witness: str = "", **facts: str) -> "ScriptedAgent":
        address = f"10.0.0.{self.rank + 1}"
        self.say(Hello(self.rank, node(self.rank), address, facts, witness, self.warnings))
        return self

    def tell_clock(self) -> None:
        """Answer the first ping, which asks for the clock."""
        if self._has_told_clock or self._connection.is_closed:
            return
        for message in self._receive() or ():
            if isinstance(message, Ping) and not self._has_told_clock:
                self._has_told_clock = True
                self.say(Pong(message.id, time.time() + self.clock_offset))
            else:
                self._heard.append(message)

    def heartbeat(self) -> None:
        self.say(Heartbeat())

    def pong(self, ping: Ping) -> None:
        self.say(Pong(ping.id))

    def hears(self) -> list[ToAgent] | None:
        """The messages sent to it until now, without heartbeats; None at the end."""
        earlier, self._heard = self._heard, []
        found = self._receive()
        return earlier or None if found is None else earlier + found

    def _receive(self) -> list[ToAgent] | None:
        found: list[ToAgent] = []
        while select.select([self._connection.stream.fd], [], [], 0)[0]:
            messages = self._connection.receive()
            if messages is None:
                return found or None
            found += [each for each in messages if not isinstance(each, Heartbeat)]
        return found

    def serve(self) -> None:
        """Do what the coordinator asked, at once."""
        for message in self.hears() or ():
            if isinstance(message, StartLaunch):
                tags = [process.name for process in message.launch.processes]
                self.say(LaunchEnded(message.id, end(tags=tags)))

    def waits_for_heartbeats(self, count: int) -> None:
        """Wait until it has received this many heartbeats."""
        while count > 0:
            messages = self._connection.receive()
            assert messages is not None, "it is gone"
            count -= sum(isinstance(each, Heartbeat) for each in messages)

    def close(self) -> None:
        self._connection.close()
