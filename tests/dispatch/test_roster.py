"""Nodes that come late, come back, never come, or are none of ours."""

import json
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from milabench_ddp.events import Outcome
from tests.support.dispatch import QUICK, plan
from tests.support.launches import benchmark
from tests.support.scripted_nodes import Led
from tests.support.wait import wait_for

Make = Callable[..., Led]
WATCHFUL = replace(QUICK, silence=0.5)
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)


def test_a_silent_node_that_wakes_up_is_used_again(led: Make) -> None:
    more = [benchmark(f"s{k}", num_machines=2) for k in range(2)]
    run = led(plan(*more), patience=WATCHFUL)
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]
    nodes[1].fall_silent()
    nodes[0].took(orders[0], "cancelled", nodes[0].order("stop")["why"])
    wait_for(lambda: "s0" in run.told.ended)
    nodes[1].send(say="ended", id=orders[1]["id"], end={})  # of what was given up: not heard
    for each in nodes[::-1]:
        while (order := each.next())["do"] == "stop":
            pass
        each.took(order)
    assert run.join() is Outcome.FAILED
    assert run.outcomes() == {"s0": "lost", "s1": "ok"}
    assert "n1 is back" in run.told.said


def test_what_was_long_on_its_way_does_not_bring_a_node_back(led: Make) -> None:
    """Of a pulled cable: it is plugged in, old packets come, and the agent has long hung up."""
    run = led(plan(TWO, benchmark("again", num_machines=2)), patience=WATCHFUL, token="secret")
    run.listen().start()
    nodes = [run.connect(rank).hello(token="secret") for rank in range(2)]
    orders = [each.order("run") for each in nodes]
    nodes[1].fall_silent()
    nodes[0].took(orders[0], "cancelled", nodes[0].order("stop")["why"])
    wait_for(lambda: "two" in run.told.ended)
    nodes[1].send(say="beat")
    nodes[1].close()
    back = run.connect(1).hello(token="secret")
    nodes[0].took(nodes[0].order("run"))
    back.took(back.order("run"))
    assert run.join() is Outcome.FAILED
    assert run.outcomes() == {"two": "lost", "again": "ok"}


def test_a_node_that_connects_again_takes_its_old_place(led: Make) -> None:
    run = led(plan(TWO, benchmark("again", num_machines=2)), token="secret")
    run.listen().start()
    nodes = [run.connect(rank).hello(token="secret") for rank in range(2)]
    orders = [each.order("run") for each in nodes]
    back = run.connect(1).hello(token="secret")  # its old connection hangs without an end
    nodes[0].took(orders[0], "cancelled", nodes[0].order("stop")["why"])
    nodes[0].took(nodes[0].order("run"))
    back.took(back.order("run"))
    assert run.join() is Outcome.FAILED
    assert run.outcomes() == {"two": "lost", "again": "ok"}
    assert run.state("two")["reason"] == "n1 lost its connection"
    assert not run.leader.has_lost_nodes


def test_a_node_that_never_comes(led: Make) -> None:
    """It is waited for; then what fits runs, and the rest is lost with the reason."""
    run = led(plan(TWO, ONE), patience=replace(QUICK, join=0.5)).listen()
    began = time.monotonic()
    run.start()
    run.connect(0).hello().serve()
    assert run.join() is Outcome.FAILED
    assert time.monotonic() - began > 0.5
    assert run.outcomes() == {"two": "lost", "one": "ok"}
    assert run.state("two")["reason"] == "it needs 2 nodes, and only 1 is left of 2"


def test_a_node_that_was_started_and_ended_at_once_is_not_waited_for(led: Make) -> None:
    run = led(plan(TWO, ONE), patience=replace(QUICK, join=60.0, reconnect=60.0))
    first, second = run.node(0), run.node(1)
    log = run.rundir.node_log("n1")
    log.parent.mkdir()
    log.write_text("Warning: one\nssh: connect to host n1 port 22: Connection refused\n\n")
    first.hello().serve()
    second.close()
    run.start()
    assert run.join() is Outcome.FAILED  # long before a minute has gone
    assert run.outcomes() == {"two": "lost", "one": "ok"}
    why = "ssh: connect to host n1 port 22: Connection refused"
    assert run.told.said == [f"n1 does not come: {why} (see {log})"]


def test_a_node_that_cannot_serve_says_why(led: Make) -> None:
    run = led(plan(ONE), expect=1)
    node = run.node(0)
    node.send(say="problem", text="no such device")
    node.close()
    assert run.start().join() is Outcome.FAILED
    assert run.told.said[0] == "n0: no such device"
    assert run.state("one")["reason"] == "it needs 1 nodes, and none is left of 2"


@pytest.mark.parametrize(
    "lines",
    [
        [{"say": "hello", "rank": 0, "token": "wrong"}],
        [{"say": "hello", "rank": 0}, {"say": "beat"}, {"say": "hello"}],  # all in one read
        [{"say": "beat"}] * 5,
        [[1, 2], "text", {}],
    ],
)
def test_who_does_not_know_the_token_is_not_let_in(led: Make, lines: list[object]) -> None:
    run = led(plan(ONE), expect=1, token="secret").listen().start()
    stranger = run.connect(0)
    stranger._connection.sendall("".join(json.dumps(each) + "\n" for each in lines).encode())
    assert stranger.next() == {"do": "gone"}
    run.connect(0).hello(token="secret").serve()
    assert run.join() is Outcome.OK
