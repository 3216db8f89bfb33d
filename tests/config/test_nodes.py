"""``--nodes`` takes the place of a matrix's own axis, and is refused where there is none."""

from pathlib import Path

import pytest

from milabench_ddp.config.nodes import with_nodes
from milabench_ddp.errors import SelectionError
from tests.support.configuration import entries, facts, suite

SWEEP = """
sweep:
  matrix: {model: [a, b], nodes: [1, 2, 4, 8]}
  job:
    name: '{model}-{nodes}'
    program: main.py
    plan: {method: per_gpu}
    num_machines: '{nodes}'
"""
OTHER = """
other:
  matrix: {model: [c]}
  job: {name: '{model}', program: main.py, plan: {method: per_gpu}}
"""
PLAIN = "plain: {program: main.py, plan: {method: per_gpu}}\n"


def names(text: str, *nodes: int) -> dict[str, int | None]:
    on = facts(node_count=max(nodes, default=8))
    return {b.name: b.num_machines for b in suite(text, on=on, nodes=nodes).benchmarks}


def test_the_counts_take_the_place_of_the_axis(here: Path) -> None:
    assert names(SWEEP, 4, 2, 1) == {
        f"{model}-{count}": count for model in "ab" for count in (4, 2, 1)
    }
    assert names(SWEEP, 3) == {"a-3": 3, "b-3": 3}


def test_without_any_it_is_as_the_file_has_it(here: Path) -> None:
    assert set(names(SWEEP)) == {f"{model}-{count}" for model in "ab" for count in (1, 2, 4, 8)}


def test_what_has_no_such_axis_stays(here: Path) -> None:
    found = names(SWEEP + OTHER + PLAIN, 2, 1)
    assert set(found) == {"a-2", "a-1", "b-2", "b-1", "c", "plain"}


@pytest.mark.parametrize("text", [OTHER, PLAIN, OTHER + PLAIN])
def test_one_count_needs_no_axis(here: Path, text: str) -> None:
    assert set(names(text, 2)) <= {"c", "plain"}
    with pytest.raises(SelectionError) as caught:
        names(text, 4, 2)
    assert str(caught.value) == (
        "--nodes 4,2: no benchmark is a matrix over `nodes`: "
        "give one number of nodes, or add `matrix: {nodes: [...]}` and a `job`"
    )


def test_what_it_is_given_is_left_as_it_was() -> None:
    found = entries("s: {matrix: {nodes: [1]}, job: {name: 's{nodes}'}}")
    changed = with_nodes(found, (2,))
    assert found["s"] != changed["s"]
    assert found == entries("s: {matrix: {nodes: [1]}, job: {name: 's{nodes}'}}")
