"""Nodes that go, or do not say how they ended; and a leader that is told to stop."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.events import Outcome
from milabench_ddp.results.points import is_final, save_point
from milabench_ddp.results.runfile import BenchmarkState
from tests.support.dispatch import QUICK, plan
from tests.support.launches import benchmark, njobs
from tests.support.scripted_nodes import SOON, Led

Make = Callable[..., Led]
WATCHFUL = replace(QUICK, silence=0.5)
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)


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


def test_a_disk_that_hangs_is_no_death(led: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader gives signs of life meanwhile, and then hears those that it was given."""
    run = led(plan(TWO, ONE), patience=WATCHFUL)
    nodes = [run.node(rank).hello() for rank in range(2)]
    hangs, goes_on = threading.Event(), threading.Event()

    def save(folder: Path, state: BenchmarkState) -> None:
        if state.name == "two" and state.ended is not None:
            hangs.set()
            assert goes_on.wait(SOON)
        save_point(folder, state)

    monkeypatch.setattr("milabench_ddp.dispatch.point.save_point", save)
    run.start()
    for each, order in [(each, each.order("run")) for each in nodes]:
        each.took(order)
    assert hangs.wait(SOON)
    began = time.monotonic()
    while time.monotonic() - began < 2 * WATCHFUL.silence:
        for each in nodes:
            each.hears(beats=3)
    goes_on.set()
    nodes[0].serve()
    assert run.join() is Outcome.OK
    assert run.told.said == []


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
    jobs = benchmark("jobs", plan=njobs(1), num_machines=2)
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
    run = led(plan(benchmark("jobs", plan=njobs(1), num_machines=2)))
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
