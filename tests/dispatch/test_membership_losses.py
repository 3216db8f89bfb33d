"""Agents that are lost, silent, or back; the test has their pipes."""

import math
import selectors
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.dispatch.agent_process import AgentLog, AgentProcess
from milabench_ddp.dispatch.coordinator import Coordinator
from milabench_ddp.dispatch.nodes import NodeHandle, NodeLost
from milabench_ddp.dispatch.protocol import (
    AwakeClock,
    Finish,
    FromAgent,
    Heartbeat,
    LaunchEnded,
    Ping,
    Pong,
    Ports,
)
from milabench_ddp.events import Outcome
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState
from tests.support.dispatch import QUICK, end, plan
from tests.support.launches import benchmark
from tests.support.membership_room import Room

GONE = NodeLost("is gone: its connection broke")
SILENT = NodeLost("has sent no heartbeat for 10 s")


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


class SaidBySlurm(AgentProcess):
    """The process of an agent that Slurm has ended, with a line in its log."""

    def __init__(self, line: str) -> None:
        super().__init__(None, AgentLog(Path("log")))
        self.line = line

    def why_lost(self) -> tuple[str, str]:
        return f"{GONE.reason}: {self.line}", self.line


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("error: Detected 1 oom_kill event in StepId=7.1.", Outcome.FAILED),
        ("error: *** STEP 7.1 ON n1 CANCELLED DUE TO PREEMPTION ***", Outcome.LOST),
    ],
)
def test_what_slurm_ends_for_want_of_memory_has_failed(
    room: Callable[..., Room], words: str, outcome: Outcome
) -> None:
    it = room()
    process = it.agents[1].coordinator_end.process = SaidBySlurm(f"slurmstepd-n1: {words}")
    it.agents[1].close()
    (said,) = [message for name, message in it.hears() if name == "n1"]
    assert said == NodeLost(f"{GONE.reason}: {process.line}", outcome)


def test_a_silent_node_is_lost_and_may_be_back_for_a_while(room: Callable[..., Room]) -> None:
    it = room()
    assert it.fall_silent(0) == [("n1", SILENT)]
    assert (it.nodes.alive, it.nodes.is_gathering, it.nodes.may_grow) == ([0], False, True)
    assert it.told.messages == ["n1 has sent no heartbeat for 10 s"]
    it.clock.sleep(QUICK.reconnect + 0.1)
    assert not it.nodes.may_grow


def test_a_coordinator_that_loses_all_others_at_once_says_that_it_may_be_itself(
    room: Callable[..., Room],
) -> None:
    it = room(4)
    reason = f"{SILENT.reason}, nor has any node but n0: the network of n0 may be cut"
    assert it.fall_silent(0) == [(f"n{k}", NodeLost(reason)) for k in (1, 2, 3)]


def test_one_of_several_that_is_silent_is_lost_by_itself(room: Callable[..., Room]) -> None:
    it = room(4)
    assert it.fall_silent(0, 2) == [("n1", SILENT), ("n3", SILENT)]
    assert it.fall_silent(0) == [("n2", SILENT)]


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
    process = it.agents[1].coordinator_end.process
    assert process is not None
    assert process.is_lost
    (ping,) = late.hears() or []  # asked once
    assert isinstance(ping, Ping)
    late.pong(ping)
    assert it.hears() == []
    assert it.nodes.alive == it.nodes.free == [0, 1]
    assert not process.is_lost
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


def test_while_the_whole_job_is_suspended_no_node_is_silent(room: Callable[..., Room]) -> None:
    """All of it goes on at about the same time, and its own node may be the first."""
    it = room(clock=AwakeClock)
    for _ in range(2):
        it.clock.sleep(3600)
        it.nodes.beat()
        assert it.hears() == []
        it.agents[0].heartbeat()
        it.agents[1].heartbeat()
        assert len(it.hears()) == 2
    for _ in range(math.ceil(QUICK.silence) + 1):  # from then on, silence counts as before
        it.clock.sleep(1.0)
        it.agents[0].heartbeat()
        found = it.hears()
    assert found[1:] == [("n1", SILENT)]


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
    while it.agents[1].coordinator_end.stream.send_now(Ping("x")):
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

    def hangs(_run: RunDir, path: Path, record: object) -> None:
        nonlocal hung
        if isinstance(record, BenchmarkState) and record.ended is not None:
            hung += 1
            for agent in it.agents:
                agent.waits_for_heartbeats(5)
            it.clock.sleep(10 * QUICK.silence)
            for agent in it.agents:
                agent.heartbeat()
        write_record(path, record)

    monkeypatch.setattr("milabench_ddp.dispatch.benchmark_run.save_state", hangs)
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
