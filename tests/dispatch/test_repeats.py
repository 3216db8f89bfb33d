"""Benchmarks that are launched again and again: in which order, and until their rate is sure."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from milabench_ddp.dispatch.nodes import NodeLost
from milabench_ddp.dispatch.protocol import StartLaunch
from milabench_ddp.dispatch.repeats import told_of_repeats
from milabench_ddp.dispatch.run_context import RunPlan
from milabench_ddp.events import Outcome
from milabench_ddp.plan.planner import place
from milabench_ddp.report.statistics.stopping import LEAST
from milabench_ddp.results.state import BenchmarkState, LaunchState, ProcessState, Repeats
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.result_files import config, end, rates, start, write
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ALIKE = [100.0, 100.1, 99.9, 100.0, 100.05, 99.95, 100.0, 100.1]
NAMES = ["a", "b", "c", "d"]
NOTHING = 0.0  # the rate of a launch that fails


def benchmarks(*names: str) -> list[object]:
    return [benchmark(name, num_machines=1) for name in names]


def order_of(repeats: int, seed: int, names: Sequence[str] = NAMES) -> list[tuple[str, int]]:
    launches = [(name, repeat) for name in names for repeat in range(repeats)]
    return sorted(launches, key=lambda launch: place(*launch, seed))


def measure(run: CoordinatorRun, told: Mapping[str, Sequence[float]]) -> list[tuple[str, int]]:
    """Run to the end: each launch measures the rate of its number, or fails where there is none.

    Returns:
        the launches in the order in which they began, by benchmark and repeat.
    """
    begun = []

    def script() -> Script:
        while True:
            for each in run.nodes:
                while each.orders:
                    begin = each.order(StartLaunch)
                    name, repeat = begin.launch.benchmark.name, begin.launch.repeat or 0
                    begun.append((name, repeat))
                    values = told.get(name, ALIKE)
                    is_ok = repeat < len(values) and values[repeat] != NOTHING
                    for process in begin.launch.processes:
                        settings = config(name, device=0, tag=list(process.tag))
                        measured = rates([values[repeat]] * 60) if is_ok else ""
                        last = end(0 if is_ok else 1)
                        write(run.dir.path, process.name, settings, start(), measured, last)
                    each.ended(begin, "ok" if is_ok else "failed")
            yield

    run.room.script = script()
    run.coordinator.execute()
    return begun


def shuffled(
    names: Sequence[str] = NAMES, repeats: int = 3, seed: int = 1, **more: object
) -> RunPlan:
    return plan(*benchmarks(*names), nodes=1, repeats=repeats, seed=seed, **more)


def test_without_a_seed_all_repeats_of_a_benchmark_follow_each_other(coordinator: Make) -> None:
    run = coordinator(plan(*benchmarks("a", "b"), nodes=1, repeats=2), nodes=1)
    assert measure(run, {}) == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


@pytest.mark.parametrize("seed", [1, 2])
def test_shuffled_benchmarks_take_turns_in_the_order_of_the_seed(
    coordinator: Make, seed: int
) -> None:
    run = coordinator(shuffled(seed=seed), nodes=1)
    assert measure(run, {}) == order_of(3, seed)
    for name in NAMES:
        state = run.state(name)
        assert [launch.repeat for launch in state.launches] == [0, 1, 2]
        assert (str(state.status), state.is_paused) == ("ok", False)
    assert set(run.told.ended) == set(NAMES)
    # told as paused while others run, and not after its last launch
    assert [each[3] for each in run.told.launches if each[0] == "a"] == [True, True, False]


def test_what_fails_between_has_its_turn_again(coordinator: Make) -> None:
    run = coordinator(shuffled(["a", "b"]), nodes=1)
    assert measure(run, {"a": [100.0]}) == order_of(3, 1, ["a", "b"])
    assert (str(run.state("a").status), str(run.state("b").status)) == ("failed", "ok")


def test_a_stop_ends_what_pauses_too_and_resume_goes_on(coordinator: Make) -> None:
    run = coordinator(shuffled(), nodes=1)
    stop_after = 6

    def script() -> Script:
        for number in range(stop_after):
            begin = run.nodes[0].order(StartLaunch)
            for process in begin.launch.processes:
                (run.dir.path / f"{process.name}.data").write_text("measured")
            run.nodes[0].ended(begin)
            if number == stop_after - 1:
                run.requests.stop()
            yield

    assert run.execute(script) is Outcome.CANCELLED
    for name in NAMES:
        state = run.state(name)
        assert (str(state.status), state.interrupted) == ("cancelled", True)
        assert 1 <= len(state.launches) <= 2
    assert len(run.told.launches) == stop_after - 1  # nothing more is told after the stop
    again = coordinator(shuffled(), nodes=1)
    assert measure(again, {}) == order_of(3, 1)[stop_after:]
    first = order_of(3, 1)[stop_after][0]
    assert again.told.launches[0] == (first, len(run.state(first).launches) - 2, 3, False)
    assert set(again.statuses().values()) == {"ok"}
    for name in NAMES:
        assert len(again.state(name).launches) == 3
        assert not (again.dir.benchmark(name) / "attempts").exists()


def test_a_launch_without_files_or_on_other_nodes_runs_again(
    coordinator: Make, tmp_path: Path
) -> None:
    first = coordinator(shuffled(["a", "b"], repeats=2), nodes=1)
    measure(first, {})
    for name, gone in {"a": "a.R0.D0.data", "b": ""}.items():
        path = tmp_path / name / "state.json"
        state = json.loads(path.read_text())
        if gone:
            state |= {"status": "cancelled", "interrupted": True}
        else:
            state |= {"status": "running", "ended": None, "is_paused": True}  # it was killed
            state["launches"][1]["nodes"] = ["n9"]
        path.write_text(json.dumps(state))
        (tmp_path / (gone or "no-such-file")).unlink(missing_ok=True)
    again = coordinator(shuffled(["a", "b"], repeats=2), nodes=1)
    assert sorted(measure(again, {})) == [("a", 0), ("b", 1)]
    assert [path.name for path in (tmp_path / "b" / "attempts" / "1").iterdir()] == ["b.R1.D0.data"]


def test_over_nodes_each_goes_on_where_it_was(coordinator: Make) -> None:
    parts = [benchmark(f"one{k}", num_machines=1) for k in range(3)]
    both = benchmark("both", num_machines=2)
    run = coordinator(plan(*parts, both, nodes=2, repeats=3, seed=3), nodes=2)
    assert run.serve() is Outcome.OK
    for name in ("one0", "one1", "one2", "both"):
        launches = run.state(name).launches
        assert len(launches) == 3
        assert len({launch.nodes for launch in launches}) == 1
    assert {node for k in range(3) for node in run.state(f"one{k}").nodes} == {"n0", "n1"}


def test_what_pauses_on_a_node_that_is_lost_is_lost(coordinator: Make) -> None:
    run = coordinator(plan(*benchmarks("a", "b", "c"), nodes=2, repeats=2, seed=1), nodes=2)

    def script() -> Script:
        for each in run.nodes:
            each.ended(each.order(StartLaunch))
        yield
        run.nodes[1].say(NodeLost("is gone"))
        yield
        while True:
            run.nodes[0].serve()
            yield

    run.room.script = script()
    assert run.coordinator.execute() is Outcome.FAILED
    found = run.statuses()
    assert sorted(found.values()) in (["lost", "ok", "ok"], ["lost", "lost", "ok"])
    for name, status in found.items():
        if status == "lost":
            assert "n1" in run.state(name).reason
    assert all(each.handle.benchmark is None for each in run.nodes[:1])


def test_launches_end_when_the_rate_is_sure(coordinator: Make) -> None:
    far = [100.0, 103.0, 97.0, 101.0, 99.0]
    todo = plan(*benchmarks("sure", "unsure"), nodes=1, repeats=20, until=0.01)
    run = coordinator(todo, nodes=1)
    begun = measure(run, {"unsure": far + [100.0, 100.2, 99.8] * 5})
    assert [repeat for name, repeat in begun if name == "sure"] == list(range(LEAST))
    count = len([name for name, _ in begun if name == "unsure"])
    assert LEAST < count < 20
    state = run.state("sure")
    assert (str(state.status), state.repeats.is_reached) == ("ok", True)
    assert run.told.messages[0] == "sure: 1 launch; at least 5 more for ±1%, 5 s"
    assert run.told.messages[LEAST - 1] == "sure: ±1% after 6 launches"
    print(run.told.messages)


def test_until_and_shuffle_leave_out_the_turns_of_what_is_sure(coordinator: Make) -> None:
    far = [100.0, 103.0, 97.0, 101.0, 99.0] * 4
    run = coordinator(shuffled(["a", "b"], repeats=8, until=0.01), nodes=1)
    begun = measure(run, {"b": far})
    assert begun[: 2 * LEAST] == order_of(LEAST, 1, ["a", "b"])
    assert begun[2 * LEAST :] == [("b", repeat) for repeat in range(LEAST, 8)]
    state = run.state("b")
    assert not state.repeats.is_reached
    assert run.told.messages[-1].endswith("after 8 launches, which are all that --repeat allows")


def test_a_benchmark_that_always_fails_is_not_launched_to_the_limit(coordinator: Make) -> None:
    run = coordinator(plan(*benchmarks("a"), nodes=1, repeats=20, until=0.01), nodes=1)
    assert len(measure(run, {"a": []})) == 3
    assert run.told.messages[-1] == (
        "a: 3 launches, and no more: 3 of its launches measured nothing"
    )


def test_a_launch_that_measured_nothing_does_not_tell_the_width(coordinator: Make) -> None:
    run = coordinator(plan(*benchmarks("a"), nodes=1, repeats=20, until=0.01), nodes=1)
    begun = measure(run, {"a": [100.0, NOTHING, *ALIKE]})
    assert len(begun) == LEAST + 1
    assert run.state("a").repeats.is_reached
    assert str(run.state("a").status) == "failed"


@pytest.mark.parametrize(
    ("done", "repeats", "text"),
    [
        (1, Repeats(5), "a: 1 launch; 4 more, 40 s"),
        (5, Repeats(5), ""),
        (1, Repeats(5, 0.01), "a: 1 launch; at least 4 more for ±1%, 40 s"),
        (
            2,
            Repeats(6, 0.01, 0.0),
            "a: ±0% after 2 launches, by chance perhaps; at least 4 more for ±1%, 40 s",
        ),
        (
            7,
            Repeats(9, 0.0125, 0.0099),
            "a: ±0.99% after 7 launches, by chance perhaps; about 2 more for ±1.25%, 20 s",
        ),
        (
            8,
            Repeats(8, 0.01, 0.0102),
            "a: ±1.02% after 8 launches, which are all that --repeat allows",
        ),
        (7, Repeats(7, 0.0125, 0.0125), "a: ±1.25% after 7 launches"),
        (5, Repeats(12, 0.01, 0.021), "a: ±2.1% after 5 launches; about 7 more for ±1%, 70 s"),
        (5, Repeats(5, 0.01, 0.0042), "a: ±0.42% after 5 launches"),
        (6, Repeats(6, 0.01, 0.03, "so"), "a: ±3% after 6 launches, and no more: so"),
        (5, Repeats(6, 0.01, 0.03, "so"), "a: ±3% after 5 launches; at least 1 more for ±1%, 10 s"),
    ],
)
def test_what_is_told_of_launches(done: int, repeats: Repeats, text: str) -> None:
    process = ProcessState("a.D0", 1, 0, Outcome.OK, "", 10.0, 20.0)
    launch = LaunchState(0, Outcome.OK, "", (process,))
    state = BenchmarkState("a", launches=[launch] * done, repeats=repeats)
    assert told_of_repeats(state) == text
