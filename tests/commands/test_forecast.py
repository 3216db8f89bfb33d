from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.commands.forecast import forecast, outline
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.results.former import FormerRuns
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.run_headers import header

PARTS = [benchmark("a", num_machines=1), benchmark("b", num_machines=2)]
BY_ONE = FormerRuns({"a": 30.0, "b": 60.0}, ("first",))


@pytest.mark.parametrize(
    ("changes", "former", "said"),
    [
        ({}, FormerRuns(), ""),
        ({}, BY_ONE, "about 75 s, by first"),  # a is on one of two nodes
        (
            {"repeats": 5},
            FormerRuns(),
            "5 launches of each: the first ones tell how long they take",
        ),
        ({"repeats": 5}, BY_ONE, "5 launches of each: about 6 min, by first"),
        (
            {"repeats": 20, "until": 0.01},
            BY_ONE,
            "6 to 20 launches of each, until ±1%: 8 min to 25 min, by first",
        ),
        (
            {"repeats": 6, "until": 0.005},
            FormerRuns({"a": 30.0, "b": 60.0}, ("x", "y")),
            "6 launches of each, until ±0.5%: about 8 min, by 2 former runs",
        ),
        (
            {},
            FormerRuns({"b": 60.0}, ("first",)),
            "about 60 s, by first, without 1 benchmark that none of them had",
        ),
    ],
)
def test_how_long_it_takes(changes: dict[str, object], former: FormerRuns, said: str) -> None:
    assert forecast(plan(*PARTS, nodes=2, **changes), PARTS, former) == said  # type: ignore[arg-type]


def test_what_a_display_needs_to_know(tmp_path: Path) -> None:
    run, head = RunDir(tmp_path / "mine"), header("a", "b")
    head.machine = {
        "host": {"name": "node3"},
        "accelerators": {"arch": "cuda", "gpus": {"0": {"product": "H100"}}},
    }
    todo = plan(*PARTS, repeats=20, until=0.01)
    here = outline(run, head, todo, ["a", "b"], is_watched=False)
    assert (here.benchmarks, here.launches, here.place) == (["a", "b"], 6, "node3, 1 x H100")
    assert here.sends_events
    assert not outline(run, head, todo, ["a"], is_watched=True).sends_events
    jobs = replace(todo, runner=RunnerProfile("slurm"), until=None)
    there = outline(run, head, jobs, ["a"], is_watched=False)
    assert (there.place, there.launches, there.sends_events) == ("2 nodes", 20, False)
    assert outline(run, head, None, ["a"], is_watched=True).launches == 1
