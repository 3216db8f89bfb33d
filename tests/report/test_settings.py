from typing import Any

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.model import NAN, Row
from milabench_ddp.report.settings import check, differing, node_count, setting


def row(name: str = "b", **config: Any) -> Row:
    return Row(name, 0, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.0, config=config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("backend", "inductor"),  # the matrix wins
        ("batch-size", "4"),
        ("batch_size", "4"),
        ("group", "g"),
        ("name", "b"),
        ("nodes", "3"),
        ("nothing", "-"),
    ],
)
def test_where_a_setting_stands(name: str, value: str) -> None:
    of = row(matrix={"backend": "inductor"}, group="g", num_machines=3,
             argv={"--backend": "eager", "--batch-size": 4})  # fmt: skip
    assert setting(of, name) == value


@pytest.mark.parametrize(
    ("config", "count"),
    [
        ({"matrix": {"nodes": 4}, "num_machines": 1}, 4),
        ({"matrix": {"nodes": None}, "num_machines": 2}, 2),
        ({"num_machines": "many"}, 1),
        ({}, 1),
    ],
)
def test_nodes(config: dict[str, Any], count: int) -> None:
    assert node_count(row(**config)) == count


def test_axes_that_differ() -> None:
    table = [row(matrix={"a": 1, "b": k, "c": k}) for k in range(2)]
    assert differing(table) == ["b", "c"]
    assert differing([]) == []


def test_a_setting_that_nobody_has() -> None:
    check([row(matrix={"model": "x"})], ["model", "nodes"])
    with pytest.raises(SelectionError, match=r"setting modle: did you mean `model`\?"):
        check([row(matrix={"model": "x"})], ["modle"])
