"""The leader from its first node to its last point, on nodes that a test plays."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Outcome
from milabench_ddp.results.run_dir import is_alive
from tests.support.dispatch import QUICK, plan
from tests.support.launches import benchmark, njobs
from tests.support.scripted_nodes import Led
from tests.support.wait import wait_for

Make = Callable[..., Led]
ONE = benchmark("one", num_machines=1)
TWO = benchmark("two", num_machines=2)


def test_a_sweep_to_its_end(led: Make) -> None:
    small = [benchmark(f"s{k}", num_machines=1) for k in range(4)]
    run = led(plan(*small, TWO))
    nodes = [run.node(rank).hello() for rank in range(2)]
    for each in nodes:
        each.serve()
    assert run.start().join() is Outcome.OK
    assert run.told.begun[0] == ("two", ("n0", "n1"))  # the largest first
    assert run.outcomes() == dict.fromkeys(["two", *(b.name for b in small)], "ok")
    assert all(len(each.ran) >= 2 for each in nodes)  # the small ones are shared out
    state = run.state("two")
    assert (state["nodes"], state["cut_short"]) == (["n0", "n1"], False)
    assert [p["tag"] for p in state["launches"][0]["processes"]] == ["two.D0.n0", "two.D0.n1"]
    assert state["started"] <= state["ended"]
    assert "two on n0, n1" in run.rundir.script("two").read_text()
    assert not is_alive(run.rundir.path / "two")


def test_nothing_begins_before_all_nodes_are_there(led: Make) -> None:
    run = led(plan(ONE), patience=replace(QUICK, join=60.0)).listen().start()
    first = run.connect(0).hello()
    first.hears(beats=3)
    run.connect(1).hello()
    first.took(first.order("run"))
    assert run.join() is Outcome.OK


def test_two_points_side_by_side_on_nodes_of_their_own(led: Make) -> None:
    run = led(plan(ONE, benchmark("uno", num_machines=1)))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]  # both before either ends
    assert [order["benchmark"] for order in orders] == ["one", "uno"]
    assert (run.state("one")["outcome"], run.state("uno")["outcome"]) == ("running", "running")
    assert is_alive(run.rundir.path / "one")
    nodes[1].took(orders[1], "failed", "ValueError: no")
    nodes[0].took(orders[0])
    assert run.join() is Outcome.FAILED
    assert run.told.ended == {"one": ("ok", ""), "uno": ("failed", "ValueError: no")}


def test_a_failing_point_does_not_end_the_sweep(led: Make) -> None:
    run = led(plan(TWO, ONE))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]
    nodes[0].took(orders[0], "failed", "ValueError: no")
    nodes[1].took(orders[1])
    nodes[0].took(nodes[0].order("run"))
    assert run.join() is Outcome.FAILED
    assert run.outcomes() == {"two": "failed", "one": "ok"}
    assert [each.order("end") for each in nodes]


def test_a_torchrun_is_told_where_its_ranks_meet(led: Make) -> None:
    jobs = benchmark("jobs", plan=njobs(2), num_machines=2)
    run = led(plan(jobs, gpus=2))
    # torchrun takes the rank 0 of a c10d rendezvous from the order of the addresses
    nodes = [run.node(0, "10.0.0.9", 2).hello(), run.node(1, "10.0.0.10", 2).hello()]
    run.start()
    assert nodes[1].give_ports([29_001, 29_002])["count"] == 2
    orders = [nodes[1].order("run"), nodes[0].order("run")]
    envs = [[process["env"] for process in order["processes"]] for order in orders]
    meets = [[env["PET_RDZV_ENDPOINT"] for env in each] for each in envs]
    assert meets == [["10.0.0.10:29001", "10.0.0.10:29002"]] * 2
    assert {env["PET_LOCAL_ADDR"] for env in envs[1]} == {"10.0.0.9"}
    tags = [[process["tag"][-1] for process in order["processes"]] for order in orders]
    assert tags == [["n1", "n1"], ["nolog", "nolog"]]
    for each, order in zip([nodes[1], nodes[0]], orders, strict=True):
        each.took(order)
    assert run.join() is Outcome.OK
    assert run.state("jobs")["nodes"] == ["n1", "n0"]


def test_repeats_one_after_another(led: Make) -> None:
    run = led(plan(TWO, repeats=2))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    first = [each.order("run") for each in nodes]
    nodes[0].took(first[0], "failed", "ValueError: no")
    nodes[1].took(first[1])
    second = [each.order("run") for each in nodes]
    assert [order["repeat"] for order in (*first, *second)] == [0, 0, 1, 1]
    for each, order in zip(nodes, second, strict=True):
        each.took(order)
    assert run.join() is Outcome.FAILED
    launches = run.state("two")["launches"]
    assert [(each["repeat"], each["outcome"]) for each in launches] == [(0, "failed"), (1, "ok")]
    assert run.told.ended["two"] == ("failed", "n0: ValueError: no")


def test_what_cannot_be_laid_out_on_these_nodes_is_a_failed_point(led: Make) -> None:
    strong = benchmark("strong", scaling="strong", argv=("--batch-size", "3"), num_machines=2)
    run = led(plan(strong, ONE))
    for rank in range(2):
        run.node(rank).hello().serve()
    assert run.start().join() is Outcome.FAILED
    assert run.outcomes() == {"strong": "failed", "one": "ok"}
    assert "divides --batch-size 3 by 2 nodes" in run.state("strong")["reason"]


def test_a_full_disk_ends_the_run_and_says_so(led: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = led(plan(TWO, ONE))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    orders = [each.order("run") for each in nodes]

    def full(*_: object) -> None:
        raise RunDirError("cannot write two/state.json: No space left on device")

    monkeypatch.setattr("milabench_ddp.dispatch.point.save_point", full)
    for each, order in zip(nodes, orders, strict=True):
        each.took(order)
    with pytest.raises(RunDirError, match="No space left"):
        run.join()
    assert [each.order("end") for each in nodes]
    assert run.outcomes() == {"two": "lost", "one": "waiting"}


def test_a_point_that_has_no_place_ends_the_run_too(led: Make, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("in the way")
    run = led(plan(ONE), expect=1)
    node = run.node(0).hello()
    run.start()
    assert node.order("end")
    with pytest.raises(RunDirError, match=r"cannot make .*/one: File exists"):
        run.join()


def test_files_of_an_earlier_attempt_are_set_aside(led: Make, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one.D0.data").write_text("earlier")
    run = led(plan(ONE), expect=1)
    run.node(0).hello().serve()
    assert run.start().join() is Outcome.OK
    assert (tmp_path / "one" / "attempts" / "1" / "one.D0.data").read_text() == "earlier"
    assert not (tmp_path / "one.D0.data").exists()


def test_what_a_node_has_to_say_is_passed_on(led: Make) -> None:
    run = led(plan(ONE), expect=1)
    node = run.node(0).hello()
    run.start()
    order = node.order("run")
    node.send(say="problem", text="the clock runs backwards")
    node.took(order)
    assert run.join() is Outcome.OK
    assert run.told.said == ["n0: the clock runs backwards"]


def test_what_is_said_of_another_launch_is_not_heard(led: Make) -> None:
    jobs = benchmark("jobs", plan=njobs(1), num_machines=2)
    run = led(plan(jobs))
    nodes = [run.node(rank).hello() for rank in range(2)]
    run.start()
    asked = nodes[0].order("ports")
    nodes[0].send(say="ports", id="of an earlier one", ports=[])
    nodes[0].send(say="ended", id="of an earlier one", end={})
    nodes[0].send(say="ports", id=asked["id"], ports=[29_000])
    for each in nodes:
        each.took(each.order("run"))
    assert run.join() is Outcome.OK
    wait_for(lambda: run.told.ended)
