"""Nodes that stand by, and take the place of those that do not start or are lost."""

from collections.abc import Callable

import pytest

from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import Ping, Problem
from milabench_ddp.results.node_state import NodeStatus, read_nodes
from milabench_ddp.results.read_state import refuse
from tests.support.dispatch import QUICK
from tests.support.membership_room import Room

Rooms = Callable[..., Room]


def test_more_nodes_than_are_wanted_stand_by(room: Rooms) -> None:
    it = room(5, spare=2)
    assert (it.nodes.alive, it.nodes.free) == ([0, 1, 2], [0, 1, 2])


@pytest.mark.parametrize("odd", [0, 1, 3])
def test_the_place_of_one_that_fails_its_check_is_taken(room: Rooms, odd: int) -> None:
    it = room(4, spare=1, missing=4)
    it.agents[odd].say(Problem("no GPU"))
    for agent in it.agents[:odd] + it.agents[odd + 1 :]:
        agent.hello()
    it.hears()
    assert sorted(it.nodes.alive) == [rank for rank in range(4) if rank != odd]
    assert it.nodes.problems == []
    state = read_nodes(it.dir, refuse)[f"n{odd}"]
    assert (state.status, state.losses) == (NodeStatus.LEFT_OUT, ("did not start: no GPU",))


def test_more_failures_than_spare_nodes_are_problems(room: Rooms) -> None:
    it = room(4, spare=1, missing=2)
    for agent in it.agents[2:]:
        agent.say(Problem("no GPU"))
    it.hears()
    assert it.nodes.alive == [0, 1]
    assert it.nodes.problems == ["2 nodes (n[2-3]) did not start: no GPU"]


def test_one_that_comes_late_stands_by(room: Rooms) -> None:
    it = room(3, spare=1, missing=1)
    it.nodes._until = it.clock()  # the others begin
    it.hears()
    it.nodes[1].benchmark = "two"
    it.agents[2].hello()
    it.hears()
    assert (it.nodes.alive, it.nodes[2].stands_by) == ([0, 1], True)


def test_the_place_of_one_that_is_lost_is_taken_also_once_it_is_back(room: Rooms) -> None:
    it = room(3, spare=1)
    it.nodes[0].benchmark = it.nodes[1].benchmark = "two"
    lost = NodeLost(f"has sent no heartbeat for {QUICK.silence:g} s")
    assert it.fall_silent(1, 2) == [("n0", lost)]
    assert it.nodes.free == [2]
    it.nodes[1].benchmark = None
    it.agents[0].heartbeat()
    it.hears()
    (ping,) = it.agents[0].hears() or []  # asked whether it is back
    assert isinstance(ping, Ping)
    it.agents[0].pong(ping)
    it.hears()
    assert (it.nodes[0].is_alive, sorted(it.nodes.alive)) == (True, [1, 2])
    assert it.told.messages == [
        f"n0 {lost.reason}",
        "n0 is back",
    ]
