"""Nodes that go, come back, never come, or are none of ours; and a leader that is told to stop."""

import json
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from milabench_ddp.config.schema import NJobs
from milabench_ddp.events import Outcome
from milabench_ddp.results.points import is_final
from tests.make import benchmark

from .make import QUICK, plan
from .scripted import Led, wait_for

Make = Callable[..., Led]
WATCHFUL = replace(QUICK, silence=0.5)
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)
THREE = benchmark("three", num_machines=3)


def test_a_node_whose_connection_breaks(led: Make) -> None:
    run = led(plan(TWO, ONE))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]
    nodes[1].close()
    stop = nodes[0].order("stop")
    why = "n1 is gone: its connection broke"
    assert (stop["id"], stop["why"], stop["hard"]) == (orders[0]["id"], why, False)
    nodes[0].took(orders[0], "cancelled", why)
    nodes[0].took(nodes[0].order("run"))  # the rest goes on without it
    assert run.join() is Outcome.FAILED
    assert run.outcomes() == {"two": "lost", "one": "ok"}
    assert run.state("two")["reason"] == why
    assert not is_final(run.state("two"))
    assert run.leader.has_lost_nodes


def test_a_silent_node_is_lost_and_told_to_end_what_it_runs(led: Make) -> None:
    run = led(plan(TWO), patience=WATCHFUL)
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]
    nodes[1].fall_silent()
    began = time.monotonic()
    nodes[0].took(orders[0], "cancelled", nodes[0].order("stop")["why"])
    assert run.join() is Outcome.FAILED
    assert time.monotonic() - began > WATCHFUL.silence / 2
    assert run.state("two")["reason"] == "n1 has given no sign of life for 0.5 s"
    stop = nodes[1].order("stop")  # it stands in its pipe until it wakes up
    assert (stop["id"], stop["hard"]) == (orders[1]["id"], True)


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


def test_a_node_that_does_not_say_how_it_ended(led: Make) -> None:
    quick = benchmark("quick", num_machines=2, max_duration=1.0)
    run = led(plan(quick))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]
    nodes[0].took(orders[0])
    assert run.join() is Outcome.FAILED
    state = run.state("quick")
    assert (state["outcome"], state["reason"]) == ("lost", "n1 did not say how its part ended")
    stop = nodes[1].order("stop")
    assert (stop["id"], stop["hard"]) == (orders[1]["id"], True)


def test_the_first_node_is_lost_while_it_looks_for_ports(led: Make) -> None:
    jobs = benchmark("jobs", plan=NJobs(1), num_machines=2)
    run = led(plan(jobs, ONE))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    nodes[0].order("ports")
    nodes[0].close()
    nodes[1].serve()
    assert run.join() is Outcome.FAILED
    assert run.outcomes() == {"jobs": "lost", "one": "ok"}
    assert [order["benchmark"] for order in nodes[1].ran] == ["one"]


def test_stopped_in_the_midst(led: Make) -> None:
    """What runs is ended and known as cut short; what waits stays waiting."""
    run = led(plan(TWO, ONE))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]
    run.inbox.stop()
    stops = [each.order("stop") for each in nodes]
    assert {stop["hard"] for stop in stops} == {False}
    run.inbox.stop()
    stops = [each.order("stop") for each in nodes]
    assert {stop["hard"] for stop in stops} == {True}
    nodes[0].took(orders[0], "cancelled", "stopped on request")
    nodes[1].took(orders[1], "failed", "killed by SIGKILL")
    assert run.join() is Outcome.CANCELLED
    state = run.state("two")
    assert (state["outcome"], state["reason"]) == ("cancelled", "stopped on request")
    assert state["cut_short"]
    assert not is_final(state)
    assert run.outcomes() == {"two": "cancelled", "one": "waiting"}


def test_what_stopped_it_names_what_it_ended(led: Make) -> None:
    cause = (Outcome.TIMEOUT, "ended by the time limit of its job")
    run = led(plan(ONE), expect=1, cause=lambda: cause)
    node = run.node(0).hello()
    run.start()
    order = node.order("run")
    run.inbox.stop()
    node.took(order, "cancelled", node.order("stop")["why"])
    assert run.join() is Outcome.CANCELLED
    state = run.state("one")
    assert (state["outcome"], state["reason"], state["cut_short"]) == (*cause, True)
    assert run.leader.stopped_as == cause
    assert not is_final(state)  # it was not its own fault


def test_stopped_before_anything_began(led: Make) -> None:
    run = led(plan(ONE), expect=2).listen().start()
    run.inbox.stop()
    assert run.join() is Outcome.CANCELLED
    assert run.outcomes() == {"one": "waiting"}


def test_stopped_while_the_first_node_looks_for_ports(led: Make) -> None:
    run = led(plan(benchmark("jobs", plan=NJobs(1), num_machines=2)))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    nodes[0].order("ports")
    run.inbox.stop()
    assert run.join() is Outcome.CANCELLED
    state = run.state("jobs")
    assert (state["outcome"], state["launches"]) == ("cancelled", [])  # none of it ever began
    assert [each.order("end")["do"] for each in nodes] == ["end", "end"]


def test_stopped_between_repeats_none_more_begins(led: Make) -> None:
    run = led(plan(ONE, repeats=3), expect=1)
    node = run.node(0).hello()
    run.start()
    node.took(node.order("run"))
    order = node.order("run")
    run.inbox.stop()
    node.order("stop")
    node.took(order, "cancelled", "stopped on request")
    assert run.join() is Outcome.CANCELLED
    outcomes = [each["outcome"] for each in run.state("one")["launches"]]
    assert outcomes == ["ok", "cancelled"]
