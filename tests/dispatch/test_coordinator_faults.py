"""Nodes that are lost, are back, or do not report the end of a launch."""

from collections.abc import Callable

from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import FindPorts, StartLaunch, StopLaunch
from milabench_ddp.events import Outcome, Status, Verdict
from tests.support.dispatch import plan
from tests.support.launches import benchmark, njobs
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)
JOBS = benchmark("jobs", plan=njobs(1), num_machines=2)
GONE = NodeLost("is gone: its connection broke")


def test_a_node_that_is_lost(coordinator: Make) -> None:
    """The others of its benchmark are stopped; the rest of the sweep goes on without it."""
    run = coordinator(plan(TWO, ONE))
    why = "n1 is gone: its connection broke"

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[1].say(GONE)
        yield
        # If it is only silent, it ends its launch as soon as it receives messages again.
        assert run.nodes[1].order(StopLaunch) == StopLaunch(
            starts[1].id, Verdict(Outcome.LOST, "its node was taken for lost"), hard=True
        )
        stop = run.nodes[0].order(StopLaunch)
        assert stop == StopLaunch(starts[0].id, Verdict(Outcome.LOST, why), hard=False)
        run.nodes[0].ended(starts[0], "cancelled", why)
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert run.statuses() == {"two": "lost", "one": "ok"}
    state = run.state("two")
    assert state.reason == why
    assert not state.is_final
    assert state.launches[0].outcome is Outcome.LOST


def test_a_node_that_is_back_is_used_again(coordinator: Make) -> None:
    run = coordinator(plan(TWO, benchmark("again", num_machines=2)))
    run.room.may_grow = True

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[1].say(GONE)
        yield
        run.nodes[0].ended(starts[0], "cancelled", run.nodes[0].order(StopLaunch).verdict.reason)
        yield
        assert run.nodes[0].orders == []
        run.nodes[1].handle.is_alive = True
        run.nodes[1].ended(
            starts[1], "cancelled", "its node was taken for lost"
        )  # of a lost launch
        yield
        assert run.nodes[1].order(StopLaunch).hard
        for each in run.nodes:
            each.ended(each.order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert run.statuses() == {"two": "lost", "again": "ok"}


def test_a_node_that_is_back_before_its_benchmark_has_ended_keeps_its_next_one(
    coordinator: Make,
) -> None:
    """The end of its lost benchmark must not free it while it runs the next one."""
    run = coordinator(plan(TWO, ONE, benchmark("uno", num_machines=1)))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[1].say(GONE)
        yield
        run.nodes[1].handle.is_alive = True
        yield
        run.nodes[1].order(StopLaunch)
        start = run.nodes[1].order(StartLaunch)
        run.nodes[0].ended(starts[0], "cancelled", run.nodes[0].order(StopLaunch).verdict.reason)
        yield
        assert run.nodes[1].orders == []
        run.nodes[1].ended(start)
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert run.statuses() == {"two": "lost", "one": "ok", "uno": "ok"}


def test_a_node_that_does_not_say_how_it_ended(coordinator: Make) -> None:
    run = coordinator(plan(benchmark("quick", num_machines=2, max_duration=1.0)))
    starts: list[StartLaunch] = []

    def script() -> Script:
        starts.extend(each.order(StartLaunch) for each in run.nodes)
        run.nodes[0].ended(starts[0])
        yield

    assert run.execute(script) is Outcome.FAILED
    state = run.state("quick")
    assert (state.status, state.reason) == (Status.LOST, "n1 did not say how its part ended")
    stop = run.nodes[1].order(StopLaunch)
    assert (stop.id, stop.hard) == (starts[1].id, True)
    assert 31.2 <= run.clock.now - 1000 <= 34  # max_duration, grace, Timeouts.report


def test_the_first_node_is_lost_while_it_looks_for_ports(coordinator: Make) -> None:
    run = coordinator(plan(JOBS, ONE))

    def script() -> Script:
        run.nodes[0].order(FindPorts)
        run.nodes[0].say(GONE)
        yield
        run.nodes[1].ended(run.nodes[1].order(StartLaunch))  # nothing of the other ran there

    assert run.execute(script) is Outcome.FAILED
    assert run.statuses() == {"jobs": "lost", "one": "ok"}


def test_the_others_are_stopped_a_while_after_the_first_failure(coordinator: Make) -> None:
    run = coordinator(plan(JOBS))

    def script() -> Script:
        run.nodes[0].give_ports(29_001)
        yield
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[0].ended(starts[0], "failed", "ValueError: no")
        for _ in range(10):  # Timeouts.others, of a second each
            yield
            assert run.nodes[1].orders == []
        yield
        stop = run.nodes[1].order(StopLaunch)
        assert (stop.verdict.reason, stop.hard) == ("n0: ValueError: no", False)
        run.nodes[1].ended(starts[1], "cancelled", stop.verdict.reason)

    assert run.execute(script) is Outcome.FAILED
    assert run.told.ended == {"jobs": Verdict(Outcome.FAILED, "n0: ValueError: no")}
