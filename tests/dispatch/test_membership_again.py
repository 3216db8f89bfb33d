"""Agents that are started again, in a step of their own; the test has their pipes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import AgentEnded, Heartbeat, LaunchEnded
from milabench_ddp.events import Outcome
from tests.support.dispatch import QUICK, end
from tests.support.membership_room import Room

KILLED = NodeLost("has lost its agent: killed by SIGKILL")


@pytest.fixture
def again(room: Callable[..., Room]) -> Callable[..., Room]:
    """Makes rooms whose agents are steps, and start again as ``room.again``."""

    def make(*arguments: Any, **options: Any) -> Room:
        it = room(*arguments, **options, again=True)
        for agent in it.agents:
            agent.coordinator_end.process = it.step_of(agent)
        return it

    return make


def test_one_that_is_killed_starts_again_and_its_node_is_used(again: Callable[..., Room]) -> None:
    it = again()
    it.agents[1].say(LaunchEnded("x", end()))
    it.agents[1].say(AgentEnded(137))
    assert it.hears() == [("n1", LaunchEnded("x", end())), ("n1", KILLED)]
    assert (it.nodes.alive, it.nodes.may_grow, it.again) == ([0], True, {})
    it.clock.sleep(1.1)
    it.hears()
    handle, (late,) = it.nodes[1], it.again.values()
    assert not handle.is_alive
    process = late.coordinator_end.process
    assert process is not None
    late.heartbeat()  # it checks its GPUs
    it.hears()
    assert process.is_lost  # it may never join, as where its node has no network
    late.hello()
    it.hears()
    assert not process.is_lost
    assert it.nodes[1] is handle  # a benchmark that is paused has it
    assert it.nodes.alive == it.nodes.free == [0, 1]
    assert it.told.messages == ["n1 has lost its agent: killed by SIGKILL", "n1 is back"]
    assert handle.send(Heartbeat())
    late.say(LaunchEnded("y", end()))
    assert it.hears() == [("n1", LaunchEnded("y", end()))]


def test_one_that_ends_again_and_again_is_started_ever_more_seldom(
    again: Callable[..., Room],
) -> None:
    it = again(1)
    agent, waits = it.agents[0], []
    for _ in range(12):
        agent.say(AgentEnded(1))
        it.hears()
        waits.append(0)
        while agent is it.latest(0):
            it.clock.sleep(1.0)
            waits[-1] += 1
            it.hears()
        agent = it.latest(0)
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-2:] == [300, 300]


def test_a_silent_one_is_given_time_to_come_back(again: Callable[..., Room]) -> None:
    it = again()
    assert [name for name, _ in it.fall_silent(0)] == ["n1"]
    it.clock.sleep(QUICK.reconnect / 2 - 0.1)
    it.agents[0].heartbeat()
    it.hears()
    assert it.again == {}
    it.clock.sleep(0.2)
    it.hears()
    late = it.latest(1)
    late.hello()
    it.hears()
    assert it.nodes.alive == [0, 1]
    assert it.agents[1].hears() is None  # its connection is closed


def test_one_that_is_back_by_itself_is_not_started_again(again: Callable[..., Room]) -> None:
    it = again()
    it.fall_silent(0)
    it.agents[1].heartbeat()
    it.hears()
    (ping,) = it.agents[1].hears() or []
    it.agents[1].pong(ping)
    it.hears()
    for _ in range(30):
        it.clock.sleep(QUICK.reconnect / 10)
        it.agents[0].heartbeat()
        it.agents[1].heartbeat()
        it.hears()
    assert (it.nodes.alive, it.again) == ([0, 1], {})


def test_one_whose_step_ended_before_it_joined_is_started_again_a_few_times(
    again: Callable[..., Room], says: Callable[..., Path]
) -> None:
    """Slurm starts no step where one of its nodes does not answer."""
    says("sinfo", "down*")
    it = again(2, missing=1)
    for wait in (1.0, 2.0, 4.0):
        it.latest(1).close()
        it.hears()
        assert (it.nodes.is_gathering, it.nodes.problems) == (True, [])
        it.clock.sleep(wait + 0.1)
        it.agents[0].heartbeat()
        it.hears()
    assert len(it.again) == 3
    it.latest(1).close()
    it.hears()
    said = "n1 did not start: Slurm has it as down, which does not respond: "
    assert it.nodes.problems[0].startswith(said)
    assert not it.nodes.is_gathering


def test_one_whose_setup_fails_is_not_started_again(again: Callable[..., Room]) -> None:
    it = again(2, missing=1)
    it.dir.node_log("n1").write_text("no module cuda\n")
    it.agents[1].say(AgentEnded(3))
    it.hears()
    said = "n1 did not start: its agent ended with exit status 3: no module"
    assert it.nodes.problems[0].startswith(said)
    it.clock.sleep(1000.0)
    it.hears()
    assert it.again == {}


def test_one_that_a_signal_ends_may_be_the_first_of_the_whole_job(
    again: Callable[..., Room],
) -> None:
    """As scancel does: no benchmark is lost for want of nodes before this process is stopped."""
    it = again(2, missing=1)
    it.agents[1].say(AgentEnded(128 + 15))
    it.hears()
    assert it.nodes.problems[0].startswith("n1 did not start: its agent was killed by SIGTERM")
    assert it.nodes.may_grow
    it.clock.sleep(5.1)
    assert not it.nodes.may_grow


def test_of_nodes_that_share_a_stream_each_has_an_end_of_its_own(
    again: Callable[..., Room],
) -> None:
    it = again(3, is_shared=True)
    it.agents[1].say(AgentEnded(137))
    it.agents[2].say(LaunchEnded("x", end()))
    assert it.hears() == [("n1", KILLED), ("n2", LaunchEnded("x", end()))]
    assert it.nodes.alive == [0, 2]
    log = it.dir.node_log("n0")
    log.write_text("slurmstepd: error: Detected 1 oom_kill event in StepId=7.1.\n")
    for agent in it.agents:
        agent.close()
    lost = dict(it.hears())
    assert lost["n0"] == NodeLost(
        f"is gone: its connection broke: {log.read_text()[:-1]}", Outcome.FAILED
    )
    assert lost["n2"] == NodeLost("is gone: its connection broke")
    assert (it.nodes.alive, it.nodes.may_grow) == ([], True)
