"""A benchmark that failed on several nodes is probed on parts of them, on nodes with faults."""

from collections.abc import Callable, Iterable

import pytest

from milabench_ddp.dispatch import isolation_run
from milabench_ddp.dispatch.run_context import missing_benchmarks
from milabench_ddp.events import Outcome
from milabench_ddp.results.isolation import IsolationRecord, read_isolation
from tests.support.dispatch import plan
from tests.support.faulty_nodes import FaultyNodes, Nodes
from tests.support.launches import benchmark, njobs
from tests.support.scripted_nodes import CoordinatorRun

Make = Callable[..., CoordinatorRun]
TRAIN = benchmark("train", plan=njobs(1), isolate=2)
ALONE = benchmark("alone", num_machines=1)


def record(run: CoordinatorRun, name: str = "train") -> IsolationRecord:
    found = read_isolation(run.dir, name)
    assert found is not None
    return found


def condemned(found: IsolationRecord) -> set[tuple[str, ...]]:
    return {each.nodes for each in found.bad}


def with_any(*names: str) -> Callable[[Nodes], bool]:
    return lambda nodes: not nodes.isdisjoint(names)


def with_all(*names: str) -> Callable[[Nodes], bool]:
    return lambda nodes: nodes.issuperset(names)


@pytest.mark.parametrize("bad", ["n0", "n3", "n4"])
def test_a_bad_node_is_found_after_all_else_has_ended(coordinator: Make, bad: str) -> None:
    run = coordinator(plan(TRAIN, ALONE, nodes=5), nodes=5)
    nodes = FaultyNodes(run, lambda names: bad in names and len(names) > 1)
    assert nodes.serve() is Outcome.FAILED
    found = record(run)
    assert condemned(found) == {(bad,)}
    assert not found.is_open
    assert run.statuses() == {"train": "failed", "alone": "ok"}
    assert list(run.told.ended) == ["train", "alone"]  # probes are no benchmarks
    assert [name for launches in nodes.rounds for name, _ in launches][:2] == ["train", "alone"]
    assert run.told.messages[-1] == f"isolation of train: found {bad}"
    assert all(each.handle.is_free for each in run.nodes)


def test_disjoint_probes_run_at_the_same_time_and_keep_their_files_apart(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=6), nodes=6)
    nodes = FaultyNodes(run, with_any("n5"))
    nodes.serve()
    assert [names for _, names in nodes.rounds[1]] == [
        frozenset({"n0", "n1"}), frozenset({"n2", "n3"}), frozenset({"n4", "n5"}),
    ]  # fmt: skip
    names = [name for name, _ in nodes.probes]
    assert names == [f"train/probe{number}" for number in range(len(names))]
    found = record(run)
    assert [each.name for each in found.probes] == names
    assert [each.round for each in found.probes[:3]] == [1, 1, 1]
    assert found.probes[2].is_bad
    assert found.probes[2].reason == "n4: it broke"
    for name in names:
        assert run.dir.state_json(name).is_file()
        assert run.dir.script(name).is_file()


def test_one_at_a_time_probes_one_after_another(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=6, one_at_a_time=True), nodes=6)
    nodes = FaultyNodes(run, with_any("n5"))
    nodes.serve()
    assert all(len(launches) == 1 for launches in nodes.rounds)
    assert condemned(record(run)) == {("n5",)}


def test_two_nodes_that_fail_only_together(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=5), nodes=5)
    FaultyNodes(run, with_all("n1", "n4")).serve()
    assert condemned(record(run)) == {("n1", "n4")}


def test_a_number_of_nodes_that_fails(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=5), nodes=5)
    FaultyNodes(run, lambda names: len(names) > 3).serve()
    found = record(run)
    assert (condemned(found), found.scale) == (set(), 4)


def test_a_failure_that_is_not_repeated(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=5), nodes=5)
    failures = iter([True])
    FaultyNodes(run, lambda _: next(failures, False)).serve()
    found = record(run)
    assert not found.bad
    assert found.scale is None
    assert not found.is_unexplained


def test_a_hang_is_bad_too(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=4), nodes=4)
    FaultyNodes(run, with_any("n2"), outcome="timeout").serve()
    assert condemned(record(run)) == {("n2",)}


def test_a_node_that_is_lost_meanwhile_takes_no_part_any_more(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=6), nodes=6)
    nodes = FaultyNodes(run, with_any("n4"), lose=("n1", 1))
    nodes.serve()
    found = record(run)
    assert condemned(found) == {("n4",)}
    assert found.probes[0].outcome is Outcome.LOST
    assert found.probes[0].is_bad is None
    later = [each for each in found.probes[3:] if "n1" in each.nodes]
    assert later
    assert all(each.lost == ("n1",) for each in later)
    assert all("n1" not in names for _, names in list(nodes.probes)[3:])


def test_slow_nodes_are_found_among_probes_of_as_many(coordinator: Make) -> None:
    """The whole is slower per node than any probe, and no node is to blame for that."""
    run = coordinator(plan(TRAIN, nodes=10), nodes=10)

    def rate(names: Nodes) -> float:
        slowest = 70 if "n9" in names else 100
        return len(names) * slowest * (0.5 if len(names) > 4 else 1)

    assert FaultyNodes(run, rate=rate).serve() is Outcome.OK
    found = record(run)
    assert not found.whole_fails
    assert condemned(found) == {("n9",)}
    assert found.probes[0].rate == pytest.approx(100)
    assert found.probes[4].rate == pytest.approx(70)


def test_all_are_as_fast_as_each_other(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=8), nodes=8)
    FaultyNodes(run, rate=lambda names: 100 * len(names)).serve()
    found = record(run)
    assert not found.bad
    assert len(found.probes) == 4


def test_without_rates_it_cannot_be_told_who_is_slow(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=8), nodes=8)
    assert FaultyNodes(run).serve() is Outcome.OK
    found = record(run)
    assert not found.bad
    assert found.why_stopped.endswith(": it cannot be compared")


@pytest.mark.parametrize(
    ("changes", "nodes", "fails"),
    [
        ({"isolate": None}, 4, True),
        ({"num_machines": 1}, 4, True),
        ({}, 7, False),  # too few to compare
    ],
)
def test_what_is_not_probed(
    coordinator: Make, changes: dict[str, int], nodes: int, *, fails: bool
) -> None:
    from msgspec.structs import replace

    run = coordinator(plan(replace(TRAIN, **changes), nodes=nodes), nodes=nodes)
    FaultyNodes(run, lambda _: fails).serve()
    assert read_isolation(run.dir, "train") is None


def test_one_that_is_lost_with_a_node_is_not_probed(coordinator: Make) -> None:
    run = coordinator(plan(TRAIN, nodes=4), nodes=4)
    FaultyNodes(run, lose=("n2", 0)).serve()
    assert run.statuses() == {"train": "lost"}
    assert read_isolation(run.dir, "train") is None


def test_a_request_to_stop_leaves_it_open_and_it_goes_on_where_it_was(coordinator: Make) -> None:
    """`--resume` runs the benchmark again, and then only what was not probed."""
    first = coordinator(plan(TRAIN, nodes=6), nodes=6)
    nodes = FaultyNodes(first, with_any("n5"))
    script = nodes._script()

    def stopped() -> Iterable[None]:
        while len(nodes.rounds) < 3:
            yield next(script)
        first.requests.stop()
        yield from script

    first.room.script = iter(stopped())
    assert first.coordinator.execute() is Outcome.CANCELLED
    assert first.statuses() == {"train": "failed"}
    known = record(first)
    assert known.is_open
    assert missing_benchmarks(first.dir, [TRAIN]) == (TRAIN,)

    second = coordinator(plan(TRAIN, nodes=6), nodes=6)
    again = FaultyNodes(second, with_any("n5"))
    assert again.serve() is Outcome.FAILED
    found = record(second)
    assert condemned(found) == {("n5",)}
    assert missing_benchmarks(second.dir, [TRAIN]) == ()
    done = {each.name for each in known.probes if each.is_bad is not None}
    assert done
    assert done.isdisjoint(name for name, _ in again.probes)


def test_what_cannot_be_planned_ends_it_with_the_reason(coordinator: Make) -> None:
    """Of a strong scaling, 48 is divided by 4 nodes and by 3, but not by 5 and 7."""
    strong = benchmark(
        "train", plan=njobs(1), isolate=5, scaling="strong", argv=("--batch-size", "48")
    )
    run = coordinator(plan(strong, nodes=12), nodes=12)
    FaultyNodes(run, with_any("n3")).serve()
    found = record(run)
    assert not found.bad
    assert not found.is_open
    assert "7 does not divide it" in found.why_stopped


def test_it_ends_after_its_time(coordinator: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation_run, "MOST_SECONDS", -1.0)
    run = coordinator(plan(TRAIN, nodes=4), nodes=4)
    FaultyNodes(run, with_any("n3")).serve()
    found = record(run)
    assert not found.bad
    assert found.why_stopped == "it was not done after 0 rounds"


def test_a_record_that_cannot_be_written_ends_no_run(
    coordinator: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from milabench_ddp.errors import RunDirError

    def refuse(*_: object) -> None:
        raise RunDirError("the disk is full")

    monkeypatch.setattr(isolation_run, "save_state", refuse)
    run = coordinator(plan(TRAIN, ALONE, nodes=4), nodes=4)
    FaultyNodes(run, with_any("n3")).serve()
    assert run.statuses() == {"train": "failed", "alone": "ok"}
    assert "the disk is full" in run.told.messages
