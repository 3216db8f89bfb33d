"""What fails a node of a validation is measured again."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec.structs import replace

from milabench_ddp.dispatch.protocol import StartLaunch
from milabench_ddp.events import Outcome
from milabench_ddp.report import partial
from milabench_ddp.report.partial import fails_a_node
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.result_files import config, end, rates, start
from tests.support.scripted_nodes import CoordinatorRun, Script

Make = Callable[..., CoordinatorRun]
ALIKE = [100.0, 100.1, 99.9, 100.0, 100.05, 99.95, 100.0, 100.1]
HEALTHY = {"n0": 100.0, "n1": 101.0, "n2": 99.5, "n3": 100.5, "n4": 99.0}


def validate(
    run: CoordinatorRun, slow: Mapping[str, Sequence[int]], outcome: str = "ok"
) -> list[tuple[str, int]]:
    """Run a validation to its end; a node is 6 % slower in some launches, from 0.

    Args:
        outcome: of the benchmark itself; probes of parts of its nodes end well.

    Returns:
        the benchmark or probe of each launch, and its number.
    """
    begun = set()

    def script() -> Script:
        while True:
            for each in run.nodes:
                name = each.handle.name
                while each.orders:
                    begin = each.order(StartLaunch)
                    asked, number = begin.launch.benchmark.name, begin.launch.repeat or 0
                    begun.add((asked, number))
                    level = HEALTHY[name] * (0.94 if number in slow.get(name, ()) else 1.0)
                    for process in begin.launch.processes:
                        told = config(
                            asked, device=0, tag=list(process.tag), tags=["validate"], node=name
                        )
                        measured = rates([level * part / 100 for part in ALIKE] * 8)
                        path = run.dir.data(process.name)
                        path.write_text(told + start() + measured + end())
                    each.ended(begin, outcome if asked == "mine" else "ok")
            yield

    run.room.script = script()
    assert run.coordinator.execute() is Outcome(outcome)
    return sorted(begun)


JUDGES = plan(benchmark("mine", tags=frozenset({"validate"})), nodes=5)


@pytest.mark.parametrize("odd", ["n0", "n4"])
def test_what_fails_a_node_is_measured_again(coordinator: Make, odd: str) -> None:
    run = coordinator(JUDGES, nodes=5)
    assert validate(run, {odd: [0]}) == [("mine", 0), ("mine", 1)]
    assert not fails_a_node(run.dir, "mine")  # on the mean of both
    assert [launch.repeat for launch in run.state("mine").launches] == [None, 1]
    assert run.told.messages == ["mine: 1 launch; 1 more, since a node is below its peers, 1 s"]


@pytest.mark.parametrize(("slow", "fails"), [([0, 1], False), ([0, 1, 2], True)])
def test_a_node_fails_by_the_mean_of_three(coordinator: Make, slow: list[int], fails: bool) -> None:
    run = coordinator(JUDGES, nodes=5)
    assert validate(run, {"n0": slow}) == [("mine", 0), ("mine", 1), ("mine", 2)]
    assert fails_a_node(run.dir, "mine") == fails


@pytest.mark.parametrize("repeats", [1, 3])
def test_nothing_is_measured_again_without_need(coordinator: Make, repeats: int) -> None:
    run = coordinator(replace(JUDGES, repeats=repeats), nodes=5)
    slow = {} if repeats == 1 else {"n2": [0]}
    assert validate(run, slow) == [("mine", number) for number in range(repeats)]


def test_an_error_of_the_report_loses_nothing(
    coordinator: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = coordinator(JUDGES, nodes=5)
    monkeypatch.setattr(partial, "fails_a_node", lambda *_: 1 / 0)
    assert validate(run, {"n2": [0]}) == [("mine", 0)]
    assert run.statuses() == {"mine": "ok"}


def test_a_probe_of_an_isolation_judges_no_node(coordinator: Make) -> None:
    mine = benchmark("mine", tags=frozenset({"validate"}), isolate=3)
    run = coordinator(plan(mine, nodes=5), nodes=5)
    begun = validate(run, {"n2": [0]}, "failed")
    assert {number for _, number in begun} == {0}
    probed = [name for name, _ in begun if name != "mine"]
    assert any(fails_a_node(run.dir, name) for name in probed)
