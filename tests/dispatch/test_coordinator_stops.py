"""A coordinator that is asked to stop, by its own process or by signals to its nodes."""

from collections.abc import Callable

import pytest

from milabench_ddp.dispatch.protocol import FindPorts, Signalled, StartLaunch, StopLaunch
from milabench_ddp.events import Outcome, Status, Verdict
from tests.support.dispatch import plan
from tests.support.launches import benchmark, njobs
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)
JOBS = benchmark("jobs", plan=njobs(1), num_machines=2)
LIMIT = Verdict(Outcome.TIMEOUT, "ended by the time limit of its job")
ON_REQUEST = Verdict(Outcome.CANCELLED, "stopped on request")


def test_stopped_in_the_midst(coordinator: Make) -> None:
    """Benchmarks that run are interrupted; those that wait never begin."""
    run = coordinator(plan(TWO, ONE))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.requests.stop()
        yield
        stops = [each.order(StopLaunch) for each in run.nodes]
        assert {(stop.verdict.reason, stop.hard) for stop in stops} == {
            ("stopped on request", False)
        }
        run.requests.stop()
        yield
        assert {each.order(StopLaunch).hard for each in run.nodes} == {True}
        run.requests.stop()
        yield
        assert [each.orders for each in run.nodes] == [[], []]  # the request cannot be harder
        run.nodes[0].ended(starts[0], "cancelled", "stopped on request")
        run.nodes[1].ended(starts[1], "failed", "killed by SIGKILL")

    assert run.execute(script) is Outcome.CANCELLED
    never = Verdict(Outcome.CANCELLED, "stopped before it began")
    assert run.told.ended == {"one": never, "two": ON_REQUEST}
    state = run.state("two")
    assert state.interrupted
    assert not state.is_final
    state = run.state("one")
    assert Verdict(Outcome(state.status), state.reason) == never
    assert not state.is_final


def test_stopped_in_a_job_what_waits_stays_waiting(coordinator: Make) -> None:
    """The job may start again; the reason is the verdict on interrupted benchmarks."""
    run = coordinator(plan(TWO, ONE), why_stopped=lambda: LIMIT)

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.requests.stop()
        yield
        for each, start in zip(run.nodes, starts, strict=True):
            each.ended(start, "cancelled", each.order(StopLaunch).verdict.reason)

    assert run.execute(script) is Outcome.CANCELLED
    assert run.told.ended == {"two": LIMIT}
    assert run.statuses() == {"two": "timeout", "one": "waiting"}
    assert run.coordinator.stopped_as == LIMIT
    state = run.state("two")
    assert state.interrupted
    assert not state.is_final  # it was not its own fault


def test_why_a_job_is_stopped_is_asked_once(coordinator: Make) -> None:
    asked = 0

    def why() -> Verdict:
        nonlocal asked
        asked += 1
        return LIMIT

    run = coordinator(plan(ONE), nodes=1, why_stopped=why)

    def script() -> Script:
        run.requests.stop()
        yield
        yield
        run.requests.stop()
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch), "cancelled", LIMIT.reason)

    assert run.execute(script) is Outcome.CANCELLED
    assert asked == 1


def test_stopped_before_anything_began(coordinator: Make) -> None:
    run = coordinator(plan(ONE))
    run.room.is_gathering = True
    run.requests.stop()
    assert run.serve() is Outcome.CANCELLED
    assert run.told.begun == []
    assert run.state("one").reason == "stopped before it began"


def test_stopped_while_the_first_node_looks_for_ports(coordinator: Make) -> None:
    run = coordinator(plan(JOBS))

    def script() -> Script:
        asked = run.nodes[0].order(FindPorts)
        run.requests.stop()
        yield
        assert [each.orders for each in run.nodes] == [[], []]
        assert asked.count == 1

    assert run.execute(script) is Outcome.CANCELLED
    state = run.state("jobs")
    assert (state.status, state.launches) == (Status.CANCELLED, [])  # nothing of it ever ran


def test_stopped_between_repeats_no_more_begin(coordinator: Make) -> None:
    run = coordinator(plan(ONE, repeats=3), nodes=1)

    def script() -> Script:
        node = run.nodes[0]
        node.ended(node.order(StartLaunch))
        yield
        start = node.order(StartLaunch)
        run.requests.stop()
        yield
        node.ended(start, "cancelled", node.order(StopLaunch).verdict.reason)

    assert run.execute(script) is Outcome.CANCELLED
    outcomes = [launch.outcome for launch in run.state("one").launches]
    assert outcomes == [Outcome.OK, Outcome.CANCELLED]


@pytest.mark.parametrize(("repeats", "status"), [(1, "ok"), (2, "cancelled")])
def test_ended_ok_just_before_the_stop(coordinator: Make, repeats: int, status: str) -> None:
    """Both messages arrive together: only a benchmark that is complete keeps its ok."""
    run = coordinator(plan(TWO, repeats=repeats))

    def script() -> Script:
        for each in run.nodes:
            each.ended(each.order(StartLaunch))
        run.requests.stop()
        yield

    assert run.execute(script) is Outcome.CANCELLED
    state = run.state("two")
    assert (str(state.status), state.interrupted) == (status, repeats > 1)
    assert [launch.outcome for launch in state.launches] == [Outcome.OK]


def test_ended_ok_on_one_of_its_nodes_just_before_the_stop(coordinator: Make) -> None:
    run = coordinator(plan(TWO))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[0].ended(starts[0])
        run.requests.stop()
        yield
        assert run.nodes[0].orders == []
        run.nodes[1].ended(starts[1], "cancelled", run.nodes[1].order(StopLaunch).verdict.reason)

    assert run.execute(script) is Outcome.CANCELLED
    assert run.told.ended == {"two": ON_REQUEST}


def test_the_signal_of_a_scheduler_to_its_nodes_stops_the_job(coordinator: Make) -> None:
    """All nodes receive it, but it is one request, so nothing is killed at once."""
    run = coordinator(plan(TWO, ONE), why_stopped=lambda: LIMIT)

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[0].say(Signalled())
        run.nodes[0].ended(starts[0], "cancelled", "stopped on request")
        yield
        run.nodes[1].say(Signalled())
        yield
        assert run.nodes[1].order(StopLaunch) == StopLaunch(starts[1].id, LIMIT, hard=False)
        assert run.nodes[1].orders == []
        run.nodes[1].ended(starts[1], "cancelled", LIMIT.reason)

    assert run.execute(script) is Outcome.CANCELLED
    assert run.told.ended == {"two": LIMIT}
    assert run.statuses()["one"] == "waiting"


def test_a_signal_to_a_node_outside_of_a_job_is_its_own_matter(coordinator: Make) -> None:
    run = coordinator(plan(TWO, ONE))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[1].say(Signalled())
        run.nodes[1].ended(starts[1], "cancelled", "stopped on request")
        run.nodes[0].ended(starts[0])
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.CANCELLED
    assert run.statuses() == {"two": "cancelled", "one": "ok"}
