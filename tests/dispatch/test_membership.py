"""Agents that join, join late, or never join; the test has their pipes."""

from collections.abc import Callable, Sequence

from milabench_ddp.dispatch.protocol import (
    FromAgent,
    LaunchEnded,
    Ping,
    Ports,
    Problem,
)
from tests.support.dispatch import QUICK, end
from tests.support.membership_room import Room


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
    log.write_text("Warning: one\nssh: connect to host n1 port 22: Connection refused\n\n")
    it.agents[1].close()
    assert it.hears() == []
    assert (it.nodes.is_gathering, it.nodes.may_grow) == (False, False)
    why = "ssh: connect to host n1 port 22: Connection refused"
    said = f"n1 did not start: {why} (see {log})"
    assert it.told.messages == [f"{said}\n    Warning: one"]
    assert it.nodes.problems == [said]


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
    assert it.told.messages == ["n0 did not start: no such device"]
    assert not it.nodes.may_grow


def test_a_node_with_a_message_that_cannot_be_is_refused_and_the_others_stay(
    room: Callable[..., Room],
) -> None:
    it = room(4, missing=4)
    it.agents[0].hello()
    it.agents[1].hello(witness="x" * 300)
    it.agents[2].rank = 0
    it.agents[2].hello()
    it.agents[3].rank = 7
    it.agents[3].hello()
    it.hears()
    assert it.nodes.alive == [0]
    assert [problem.split(" (")[0] for problem in it.nodes.problems] == [
        "n1 did not start: milabench itself failed: File name too long: "
        f"{it.dir.nodes}/{'x' * 300}",
        "n2 did not start: it says that it is node 0, as n0 does",
        "n3 did not start: it says that it is node 7 of 4",
    ]
