"""One benchmark on its nodes: the address where its ranks meet, its repeats, its files."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import LaunchEnded, StartLaunch, StopLaunch
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.results.lock import is_alive
from tests.support.dispatch import end, plan
from tests.support.launches import SITE, benchmark, njobs
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)
PLACES = [f"node{number}" for number in range(1, 33)]  # node10 is after node2


def test_its_state_and_its_script(coordinator: Make) -> None:
    run = coordinator(plan(TWO))
    assert run.serve() is Outcome.OK
    state = run.state("two")
    assert (state.nodes, state.interrupted) == (("n0", "n1"), False)
    assert [p.tag for p in state.launches[0].processes] == ["two.D0.n0", "two.D0.n1"]
    assert state.started is not None
    assert state.ended is not None
    assert state.started <= state.ended
    assert "two on n[0-1]" in run.dir.script("two").read_text()
    assert not is_alive(run.dir.benchmark("two"))


def test_a_torchrun_is_told_where_its_ranks_meet(coordinator: Make) -> None:
    jobs = benchmark("jobs", plan=njobs(2))
    run = coordinator(plan(jobs, gpus=2, nodes=len(PLACES)), addresses=PLACES, devices=2)

    def script() -> Script:
        assert run.nodes[0].give_ports(29_001, 29_002).count == 2
        yield
        for rank, each in enumerate(run.nodes):
            start = each.order(StartLaunch)
            processes = start.launch.processes
            meets = [process.env["PET_RDZV_ENDPOINT"] for process in processes]
            assert meets == ["node1:29001", "node1:29002"]
            assert {process.env["PET_NODE_RANK"] for process in processes} == {str(rank)}
            tags = [process.tag[-1] for process in processes]
            assert tags == (["nolog"] * 2 if rank else ["n0"] * 2)
            each.ended(start)

    assert run.execute(script) is Outcome.OK
    assert run.state("jobs").nodes == tuple(f"n{rank}" for rank in range(32))


def test_a_process_for_each_rank_is_told_where_they_meet(coordinator: Make) -> None:
    site = replace(SITE, launcher="tasks")
    many = plan(benchmark("jobs", plan=njobs(1)), site=site, nodes=len(PLACES))
    run = coordinator(many, addresses=PLACES)

    def script() -> Script:
        run.nodes[0].give_ports(29_001)
        yield
        for rank, each in enumerate(run.nodes):
            start = each.order(StartLaunch)
            for process in start.launch.processes:
                assert process.env["MASTER_ADDR"] == "node1"
                assert process.env["MASTER_PORT"] == "29001"
                assert process.env["RANK"] == str(rank)
            each.ended(start)

    assert run.execute(script) is Outcome.OK


def test_repeats_one_after_another(coordinator: Make) -> None:
    run = coordinator(plan(TWO, repeats=2))

    def script() -> Script:
        first = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[0].ended(first[0], "failed", "ValueError: no")
        yield
        assert run.nodes[0].orders == []  # not before all have ended
        run.nodes[1].ended(first[1])
        yield
        second = [each.order(StartLaunch) for each in run.nodes]
        assert [start.launch.repeat for start in (*first, *second)] == [0, 0, 1, 1]
        assert len({start.id for start in (*first, *second)}) == 2
        for each, start in zip(run.nodes, second, strict=True):
            each.ended(start)

    assert run.execute(script) is Outcome.FAILED
    launches = run.state("two").launches
    assert [(each.repeat, str(each.outcome)) for each in launches] == [(0, "failed"), (1, "ok")]
    assert run.told.ended["two"] == Verdict(Outcome.FAILED, "n0: ValueError: no")


def test_each_repeat_looks_for_ports_of_its_own(coordinator: Make) -> None:
    run = coordinator(plan(benchmark("jobs", plan=njobs(1), num_machines=2), repeats=2))

    def script() -> Script:
        for port in (29_001, 29_002):
            run.nodes[0].give_ports(port)
            yield
            for each in run.nodes:
                start = each.order(StartLaunch)
                (process,) = start.launch.processes
                assert process.env["PET_RDZV_ENDPOINT"].endswith(f":{port}")
                each.ended(start)
            yield

    assert run.execute(script) is Outcome.OK


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
def test_times_are_by_the_clock_of_the_coordinator(coordinator: Make, ahead: float) -> None:
    run = coordinator(plan(TWO))

    def script() -> Script:
        run.nodes[1].handle.ahead = ahead
        for each in run.nodes:
            start = each.order(StartLaunch)
            tags = [process.name for process in start.launch.processes]
            told = end(tags=tags).behind(-each.handle.ahead)
            assert told.processes[0].started == 1.0 + each.handle.ahead
            each.say(LaunchEnded(start.id, told))
        yield

    assert run.execute(script) is Outcome.OK
    (launch,) = run.state("two").launches
    assert [(each.started, each.ended) for each in launch.processes] == [(1.0, 2.0)] * 2
    assert launch.seconds == 1.0


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.FAILED])
def test_after_a_lost_node_no_repeat_begins(coordinator: Make, outcome: Outcome) -> None:
    run = coordinator(plan(TWO, repeats=2))

    def script() -> Script:
        starts = [each.order(StartLaunch) for each in run.nodes]
        run.nodes[1].say(NodeLost("is gone", outcome))
        yield
        run.nodes[0].ended(starts[0], "cancelled", run.nodes[0].order(StopLaunch).verdict.reason)
        yield

    assert run.execute(script) is Outcome.FAILED
    assert run.nodes[0].orders == []
    state = run.state("two")
    assert [launch.outcome for launch in state.launches] == [outcome]
    assert (state.verdict.outcome, state.is_final) == (outcome, outcome is Outcome.FAILED)


def test_files_of_an_earlier_attempt_are_set_aside(coordinator: Make, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one.D0.data").write_text("earlier")
    run = coordinator(plan(ONE), nodes=1)
    assert run.serve() is Outcome.OK
    assert (tmp_path / "one" / "attempts" / "1" / "one.D0.data").read_text() == "earlier"
    assert not (tmp_path / "one.D0.data").exists()


def test_a_job_on_one_node_needs_no_ports(coordinator: Make) -> None:
    run = coordinator(plan(benchmark("jobs", plan=njobs(1)), nodes=1), nodes=1)

    def script() -> Script:
        yield
        run.nodes[0].ended(run.nodes[0].order(StartLaunch))

    assert run.execute(script) is Outcome.OK
