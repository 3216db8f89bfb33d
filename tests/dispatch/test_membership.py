"""Agents that join late, never join, are lost, or are back; the test has their pipes."""

import selectors
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.membership import Membership
from milabench_ddp.dispatch.nodes import NodeHandle, NodeLost
from milabench_ddp.dispatch.protocol import (
    Finish,
    FromAgent,
    Heartbeat,
    LaunchEnded,
    Ping,
    Pong,
    Ports,
    Problem,
)
from milabench_ddp.events import Outcome
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState
from tests.support.dispatch import QUICK, Clock, end, plan
from tests.support.launches import benchmark
from tests.support.progress import RecordedProgress
from tests.support.scripted_agent import ScriptedAgent

GONE = NodeLost("is gone: its connection broke")
SILENT = NodeLost("has sent no heartbeat for 10 s")


class Room:
    """A membership whose agents are scripted by the test."""

    def __init__(self, folder: Path, count: int) -> None:
        self.dir, self.clock, self.told = RunDir(folder), Clock(), RecordedProgress()
        self.requests = StopRequests()
        self.agents = [ScriptedAgent(rank) for rank in range(count)]
        ends = {agent.name: agent.coordinator_end for agent in self.agents}
        self.nodes = Membership(
            self.dir, ends, self.requests.fd, QUICK, self.told, clock=self.clock
        )

    def hears(self) -> list[tuple[str, FromAgent | NodeLost]]:
        """The messages of the nodes about their work, by the names of the nodes."""
        return [(handle.name, message) for handle, message in self.nodes.receive(0)]

    def fall_silent(self, *speakers: int) -> list[tuple[str, FromAgent | NodeLost]]:
        """All agents except these send no heartbeat for a long time."""
        self.clock.sleep(QUICK.silence + 0.1)
        for rank in speakers:
            self.agents[rank].heartbeat()
        return [each for each in self.hears() if isinstance(each[1], NodeLost)]

    def close(self) -> None:
        self.nodes.__exit__()
        for agent in self.agents:
            agent.close()
        self.requests.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Callable[..., Room]]:
    """Makes rooms with agents that have joined, except for the last ones."""
    made: list[Room] = []

    def make(count: int = 2, missing: int = 0) -> Room:
        it = Room(tmp_path, count)
        made.append(it)
        for agent in it.agents[: count - missing]:
            agent.hello()
        it.hears()
        return it

    yield make
    for each in made:
        each.close()


def test_nodes_count_once_they_have_said_hello(room: Callable[..., Room]) -> None:
    it = room(2, missing=2)
    assert (it.nodes.alive, it.nodes.is_gathering, it.nodes.may_grow) == ([], True, True)
    it.agents[1].hello()
    assert it.hears() == []
    assert (it.nodes.alive, it.nodes.is_gathering) == ([1], True)
    it.agents[0].hello()
    it.hears()
    assert (sorted(it.nodes.alive), it.nodes.is_gathering, it.nodes.may_grow) == (
        [0, 1],
        False,
        False,
    )
    handle = it.nodes[1]
    assert (handle.rank, handle.name, handle.address) == (1, "n1", "10.0.0.2")
    handle.benchmark = "one"
    assert it.nodes.free == [0]


def test_what_nodes_say_of_their_work(room: Callable[..., Room]) -> None:
    it = room()
    messages: Sequence[FromAgent] = (LaunchEnded("x", end()), Ports("x", (1, 2)))
    for message in messages:
        it.agents[0].say(message)
    assert it.hears() == [("n0", message) for message in messages]
    it.nodes[1].send(Ping("x"))
    assert it.agents[1].hears() == [Ping("x")]


def test_a_problem_is_passed_on(room: Callable[..., Room]) -> None:
    it = room()
    it.agents[0].say(Problem("the clock runs backwards"))
    assert it.hears() == []
    assert it.told.messages == ["n0: the clock runs backwards"]


def test_a_request_to_stop_ends_the_wait(room: Callable[..., Room]) -> None:
    it = room()
    it.requests.stop()
    assert list(it.nodes.receive(600.0)) == []


def test_a_node_that_never_comes_is_waited_for(room: Callable[..., Room]) -> None:
    it = room(2, missing=1)
    it.clock.sleep(QUICK.join - 0.1)
    it.agents[0].heartbeat()
    it.hears()
    assert (it.nodes.is_gathering, it.nodes.may_grow) == (True, True)
    it.clock.sleep(0.2)
    assert (it.nodes.is_gathering, it.nodes.may_grow) == (False, False)
    assert it.nodes.alive == [0]
    it.agents[1].hello()  # after this time it can still join
    it.hears()
    assert it.nodes.alive == [0, 1]


def test_one_that_ended_before_its_hello_is_not_waited_for(room: Callable[..., Room]) -> None:
    it = room(2, missing=1)
    log = it.dir.node_log("n1")
    log.parent.mkdir()
    log.write_text("Warning: one\nssh: connect to host n1 port 22: Connection refused\n\n")
    it.agents[1].close()
    assert it.hears() == []
    assert (it.nodes.is_gathering, it.nodes.may_grow) == (False, False)
    why = "ssh: connect to host n1 port 22: Connection refused"
    assert it.told.messages == [f"n1 did not start: {why} (see {log})"]


def test_one_that_printed_nothing(room: Callable[..., Room]) -> None:
    it = room(1, missing=1)
    it.agents[0].close()
    it.hears()
    assert it.told.messages == [f"n0 did not start: (see {it.dir.node_log('n0')})"]


def test_one_that_cannot_serve_says_why(room: Callable[..., Room]) -> None:
    it = room(1, missing=1)
    it.agents[0].say(Problem("no such device"))
    it.agents[0].close()
    it.hears()
    it.hears()
    assert it.told.messages[0] == "n0: no such device"
    assert not it.nodes.may_grow


def test_a_node_whose_connection_breaks_is_gone_for_good(room: Callable[..., Room]) -> None:
    it = room()
    it.nodes[1].benchmark = "two"
    it.agents[1].say(LaunchEnded("x", end()))
    it.agents[1].close()
    said = it.hears() + it.hears()
    assert said == [("n1", LaunchEnded("x", end())), ("n1", GONE)]  # first, its earlier messages
    assert (it.nodes.alive, it.nodes.free, it.nodes.may_grow) == ([0], [0], False)
    assert it.nodes[1].benchmark is None
    assert it.told.messages == ["n1 is gone: its connection broke"]
    assert it.fall_silent(0) == []  # only once


def test_a_silent_node_is_lost_and_may_be_back_for_a_while(room: Callable[..., Room]) -> None:
    it = room()
    assert it.fall_silent(0) == [("n1", SILENT)]
    assert (it.nodes.alive, it.nodes.is_gathering, it.nodes.may_grow) == ([0], False, True)
    assert it.told.messages == ["n1 has sent no heartbeat for 10 s"]
    it.clock.sleep(QUICK.reconnect + 0.1)
    assert not it.nodes.may_grow


def test_only_a_pong_brings_it_back(room: Callable[..., Room]) -> None:
    """After a cable is plugged in again, the first messages to arrive are old."""
    it = room()
    it.fall_silent(0)
    late = it.agents[1]
    late.heartbeat()
    late.say(LaunchEnded("x", end()))  # of a launch that was lost: ignored
    late.say(Pong("of an earlier one"))
    assert it.hears() == []
    assert it.nodes.alive == [0]
    (ping,) = late.hears() or []  # asked once
    assert isinstance(ping, Ping)
    late.pong(ping)
    assert it.hears() == []
    assert it.nodes.alive == it.nodes.free == [0, 1]
    assert it.told.messages[1:] == ["n1 is back"]
    late.say(LaunchEnded("y", end()))
    assert it.hears() == [("n1", LaunchEnded("y", end()))]


def test_each_loss_has_a_ping_of_its_own(room: Callable[..., Room]) -> None:
    it = room(1)
    pings = []
    for _ in range(2):
        it.fall_silent()
        it.agents[0].heartbeat()
        it.hears()
        (ping,) = it.agents[0].hears() or []
        assert isinstance(ping, Ping)
        pings.append(ping)
        it.agents[0].pong(ping)
        it.hears()
        assert it.nodes.alive == [0]
    first, second = pings
    assert first != second


def test_a_silent_one_whose_connection_breaks_will_not_be_back(room: Callable[..., Room]) -> None:
    it = room()
    it.fall_silent(0)
    it.agents[1].heartbeat()
    it.agents[1].close()
    assert it.hears() + it.hears() == []
    assert it.nodes.alive == [0]
    assert not it.nodes.may_grow


def test_what_was_said_meanwhile_is_heard_before_anyone_is_given_up(
    room: Callable[..., Room],
) -> None:
    """The coordinator's disk was blocked for a long time, but all its nodes were alive."""
    it = room()
    assert it.fall_silent(0, 1) == []
    assert it.nodes.alive == [0, 1]


def test_a_coordinator_that_was_stopped_while_it_waited_hears_them_first(
    room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a Ctrl-Z: the wait that was interrupted is over, and has not looked again."""
    it = room()
    select = selectors.DefaultSelector.select

    def stopped(self: selectors.DefaultSelector, timeout: float) -> object:
        if not timeout:
            return select(self, timeout)
        it.clock.sleep(QUICK.silence + 0.1)
        for agent in it.agents:
            agent.heartbeat()
        return []

    monkeypatch.setattr(selectors.DefaultSelector, "select", stopped)
    said = [message for _, message in it.nodes.receive(1.0)]
    assert said == [Heartbeat(), Heartbeat()]
    assert it.nodes.alive == [0, 1]


def test_time_that_passes_while_a_message_is_handled_is_not_silence(
    room: Callable[..., Room],
) -> None:
    it = room()
    it.agents[0].say(Ports("x", (1, 2)))
    heard = []
    for _, message in it.nodes.receive(0):
        heard.append(message)
        it.clock.sleep(QUICK.silence + 0.1)  # a terminal that was halted, for example
    assert heard == [Ports("x", (1, 2))]
    assert it.nodes.alive == [0, 1]


def test_heartbeats_go_to_all_and_at_the_end_they_are_told(room: Callable[..., Room]) -> None:
    it = room(2, missing=1)
    with it.nodes:
        for agent in it.agents:
            agent.waits_for_heartbeats(3)
    for agent in it.agents:
        assert agent.hears() == [Finish()]
        assert agent.hears() is None


def test_one_that_takes_nothing_keeps_no_heartbeat_from_others(room: Callable[..., Room]) -> None:
    it = room()
    while it.agents[1].coordinator_end.send_now(Ping("x")):
        pass  # its pipe is full
    with it.nodes:
        it.agents[0].waits_for_heartbeats(3)
        it.agents[1].hears()


def test_a_disk_that_hangs_is_not_a_death(
    room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator sends heartbeats meanwhile, and then reads those that it received."""
    it = room()
    hung = 0

    def hangs(path: Path, record: object) -> None:
        nonlocal hung
        if isinstance(record, BenchmarkState) and record.ended is not None:
            hung += 1
            for agent in it.agents:
                agent.waits_for_heartbeats(5)
            it.clock.sleep(10 * QUICK.silence)
            for agent in it.agents:
                agent.heartbeat()
        write_record(path, record)

    monkeypatch.setattr("milabench_ddp.dispatch.benchmark_run.write_record", hangs)
    two = [benchmark(name, num_machines=2) for name in ("one", "two")]
    coordinator = Coordinator(
        it.dir, plan(*two), two, it.nodes, it.requests, it.told, QUICK, clock=it.clock
    )
    receive = it.nodes.receive

    def served(timeout: float) -> Iterator[tuple[NodeHandle, FromAgent | NodeLost]]:
        for agent in it.agents:
            agent.serve()
        return receive(timeout)

    monkeypatch.setattr(it.nodes, "receive", served)
    assert coordinator.execute() is Outcome.OK
    assert hung == 2
    assert it.told.messages == []
