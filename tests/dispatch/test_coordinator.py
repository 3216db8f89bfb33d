"""The coordinator from its first node to its last benchmark, on nodes that follow a script."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.dispatch.protocol import FindPorts, LaunchEnded, Ports, StartLaunch
from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Outcome, Status, Verdict
from milabench_ddp.results.lock import is_alive
from milabench_ddp.results.run_dir import RunDir, save_state
from tests.support.dispatch import end, plan
from tests.support.launches import benchmark, njobs
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)
OK = Verdict(Outcome.OK)
BROKEN = Verdict(Outcome.FAILED, "ValueError: no")


def test_a_sweep_to_its_end(coordinator: Make) -> None:
    small = [benchmark(f"s{k}", num_machines=1) for k in range(4)]
    run = coordinator(plan(*small, TWO))
    assert run.serve() is Outcome.OK
    assert run.told.begun[0] == ("two", ("n0", "n1"))  # the largest first
    assert run.statuses() == dict.fromkeys([*(b.name for b in small), "two"], "ok")
    assert all(len(each.started) == 3 for each in run.nodes)  # the small ones share the nodes
    assert run.told.ended == dict.fromkeys(run.statuses(), OK)


def test_without_benchmarks_nothing_is_asked(coordinator: Make) -> None:
    run = coordinator(plan())
    assert run.serve() is Outcome.OK
    assert [each.orders for each in run.nodes] == [[], []]


def test_nothing_begins_before_all_nodes_are_there(coordinator: Make) -> None:
    run = coordinator(plan(ONE))
    run.room.is_gathering = True

    def script() -> Script:
        for _ in range(5):
            assert run.nodes[0].orders == []
            yield
        run.room.is_gathering = False
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.OK


def test_two_benchmarks_side_by_side_on_nodes_of_their_own(coordinator: Make) -> None:
    run = coordinator(plan(ONE, benchmark("uno", num_machines=1)))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]  # both before either ends
        assert [start.launch.benchmark.name for start in starts] == ["one", "uno"]
        assert run.statuses() == {"one": "running", "uno": "running"}
        assert is_alive(run.dir.benchmark("one"))
        run.nodes[1].ended(starts[1], "failed", "ValueError: no")
        yield
        assert run.told.ended == {"uno": BROKEN}
        assert not is_alive(run.dir.benchmark("uno"))
        run.nodes[0].ended(starts[0])

    assert run.execute(script) is Outcome.FAILED
    assert run.told.ended == {"one": OK, "uno": BROKEN}


def test_one_at_a_time_leaves_the_other_nodes_idle(coordinator: Make) -> None:
    run = coordinator(plan(ONE, benchmark("uno", num_machines=1), one_at_a_time=True))

    def script() -> Script:
        for name in ("one", "uno"):
            start = run.nodes[0].order(StartLaunch)
            assert start.launch.benchmark.name == name
            yield
            assert [each.orders for each in run.nodes] == [[], []]
            run.nodes[0].ended(start)
            yield

    assert run.execute(script) is Outcome.OK


def test_a_failing_benchmark_does_not_end_the_sweep(coordinator: Make) -> None:
    run = coordinator(plan(TWO, ONE))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[0].ended(starts[0], "failed", "ValueError: no")
        run.nodes[1].ended(starts[1])
        yield
        assert run.room.is_open
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert run.statuses() == {"two": "failed", "one": "ok"}
    assert not run.room.is_open


def test_a_benchmark_waits_for_the_nodes_that_it_needs(coordinator: Make) -> None:
    """The node that becomes free meanwhile is kept for the larger one."""
    small = [benchmark(f"s{k}", num_machines=1) for k in range(2)]
    big = benchmark("big", num_machines=3)
    run = coordinator(plan(small[0], small[1], big, TWO, nodes=3), nodes=3)

    def script() -> Script:
        for each in run.nodes:
            each.ended(each.order(StartLaunch))
        yield
        for each in run.nodes[:2]:
            assert each.order(StartLaunch).launch.benchmark.name == "two"
        small_start = run.nodes[2].order(StartLaunch)
        run.nodes[2].ended(small_start)
        yield
        run.nodes[2].ended(run.nodes[2].order(StartLaunch))
        yield
        run.requests.stop()

    assert run.execute(script) is Outcome.CANCELLED
    assert [name for name, _ in run.told.begun] == ["big", "two", "s0", "s1"]


def test_what_cannot_be_laid_out_on_these_nodes_fails(coordinator: Make) -> None:
    strong = benchmark("strong", scaling="strong", argv=("--batch-size", "3"), num_machines=2)
    run = coordinator(plan(strong, ONE))
    assert run.serve() is Outcome.FAILED
    assert run.statuses() == {"strong": "failed", "one": "ok"}
    assert "divides --batch-size 3 by 2 nodes" in run.state("strong").reason


def test_one_that_needs_more_nodes_than_there_can_be(coordinator: Make) -> None:
    """Benchmarks that fit run; then the others are lost, unless more nodes may come."""
    run = coordinator(plan(TWO, ONE), nodes=1)
    run.room.may_grow = True

    def script() -> Script:
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))
        for _ in range(5):
            yield
            assert run.statuses() == {"two": "waiting", "one": "ok"}
        run.room.may_grow = False

    assert run.execute(script) is Outcome.FAILED
    why = "too few nodes: 1 of 2 can be used"
    assert run.told.ended == {"one": OK, "two": Verdict(Outcome.LOST, why)}
    state = run.state("two")
    assert (state.status, state.reason, state.started) == (Status.LOST, why, None)
    assert state.ended is not None
    assert not state.is_final


@pytest.mark.parametrize(("tags", "outcome"), [({"validate"}, "ok"), (set(), "lost")])
def test_a_validation_of_all_nodes_is_of_those_that_there_are(
    coordinator: Make, tags: set[str], outcome: str
) -> None:
    run = coordinator(plan(benchmark("all", tags=frozenset(tags)), nodes=3))  # the third never came
    run.serve()
    assert run.statuses() == {"all": outcome}
    assert run.state("all").nodes == (("n0", "n1") if outcome == "ok" else ())


def test_no_node_at_all(coordinator: Make) -> None:
    run = coordinator(plan(ONE), nodes=0)
    assert run.serve() is Outcome.FAILED
    assert run.state("one").reason == "too few nodes: 0 of 2 can be used"


def test_one_node_needs_no_name(coordinator: Make) -> None:
    run = coordinator(plan(ONE, nodes=1), nodes=1)
    assert run.serve() is Outcome.OK
    assert run.told.begun == [("one", ())]


def test_a_state_that_cannot_be_written_is_the_failure_of_its_benchmark(
    coordinator: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = coordinator(plan(TWO, ONE))
    why = "cannot write two/state.json: No space left on device"

    def save(run: RunDir, path: Path, record: object) -> None:
        if path.parent.name == "two":
            raise RunDirError(why)
        save_state(run, path, record)

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        monkeypatch.setattr("milabench_ddp.dispatch.benchmark_run.save_state", save)
        for each, start in zip(run.nodes, starts, strict=True):
            each.ended(start)
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.FAILED
    assert run.told.ended == {"two": Verdict(Outcome.FAILED, why), "one": OK}
    assert run.statuses() == {"two": "lost", "one": "ok"}  # `--resume` runs it again


def test_a_benchmark_that_has_no_place_fails_alone(coordinator: Make, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("in the way")
    run = coordinator(plan(ONE, benchmark("uno", num_machines=1)), nodes=1)
    assert run.serve() is Outcome.FAILED
    assert run.told.ended["uno"] == OK
    assert run.told.ended["one"].reason == f"cannot make {tmp_path}/one: File exists"


def test_what_is_said_of_another_launch_is_not_heard(coordinator: Make) -> None:
    jobs = benchmark("jobs", plan=njobs(1), num_machines=2)
    run = coordinator(plan(jobs))

    def script() -> Script:
        first, second = run.nodes
        asked = first.order(FindPorts)
        first.say(Ports("of an earlier one", ()))
        first.say(LaunchEnded("of an earlier one", end("failed", "no")))
        yield
        assert first.orders == second.orders == []
        first.say(Ports(asked.launch, (29_000,)))
        first.say(Ports(asked.launch, (29_001,)))  # the same message twice
        yield
        for each in run.nodes:
            each.ended(each.order(StartLaunch))
            assert each.orders == []

    assert run.execute(script) is Outcome.OK


def test_what_is_said_by_a_node_that_has_nothing_to_do_is_not_heard(coordinator: Make) -> None:
    run = coordinator(plan(ONE))

    def script() -> Script:
        run.nodes[1].say(LaunchEnded("x", end("failed", "no")))
        run.nodes[1].say(Ports("x", ()))
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.OK
