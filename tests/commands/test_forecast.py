from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.commands.forecast import forecast, outline
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.results.run_dir import RunDir
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.run_headers import header

PARTS = [benchmark("a", num_machines=1), benchmark("b", num_machines=2)]
BY_ONE = {"a": 30.0, "b": 60.0}


@pytest.mark.parametrize(
    ("changes", "former", "said"),
    [
        ({}, {}, ""),
        ({}, BY_ONE, "about 75 s, by former runs"),  # a is on one of two nodes
        (
            {"repeats": 5},
            {},
            "5 launches of each: the first ones tell how long they take",
        ),
        ({"repeats": 5}, BY_ONE, "5 launches of each: about 6 min, by former runs"),
        (
            {"repeats": 20, "until": 0.01},
            BY_ONE,
            "6 to 20 launches of each, until ±1%: 8 min to 25 min, by former runs",
        ),
        (
            {"repeats": 6, "until": 0.005},
            {"a": 30.0, "b": 60.0},
            "6 launches of each, until ±0.5%: about 8 min, by former runs",
        ),
        (
            {},
            {"b": 60.0},
            "about 60 s, by former runs, without 1 benchmark that none of them had",
        ),
    ],
)
def test_how_long_it_takes(changes: dict[str, object], former: dict[str, float], said: str) -> None:
    assert forecast(plan(*PARTS, nodes=2, **changes), PARTS, former) == said  # type: ignore[arg-type]


def test_what_a_display_needs_to_know(tmp_path: Path) -> None:
    run, head = RunDir(tmp_path / "mine"), header("a", "b")
    todo = plan(*PARTS, repeats=20, until=0.01)
    here = outline(run, head, todo, ["a", "b"], is_watched=False)
    assert (here.benchmarks, here.launches) == (["a", "b"], 6)
    assert here.sends_events
    assert not outline(run, head, todo, ["a"], is_watched=True).sends_events
    jobs = replace(todo, runner=RunnerProfile("slurm"), until=None)
    there = outline(run, head, jobs, ["a"], is_watched=False)
    assert (there.launches, there.sends_events) == (20, False)
    assert outline(run, head, None, ["a"], is_watched=True).launches == 1
