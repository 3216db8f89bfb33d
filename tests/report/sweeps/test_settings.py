from typing import Any

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.model import NAN, Row
from milabench_ddp.report.sweeps.settings import by_settings, check, differing, setting_of


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
    assert setting_of(of, name) == value


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
    assert row(**config).nodes == count


def test_axes_that_differ() -> None:
    table = [row(matrix={"a": 1, "b": k, "c": k}) for k in range(2)]
    assert differing(table) == ["b", "c"]
    assert differing([]) == []


def test_a_setting_that_nobody_has() -> None:
    check([row(matrix={"model": "x"})], ["model", "nodes"])
    with pytest.raises(
        SelectionError, match=r"modle: did you mean `model`, or one of model, name, nodes\?"
    ):
        check([row(matrix={"model": "x"})], ["modle"])


def point(name: str, **matrix: Any) -> Row:
    config = {"matrix": matrix, "num_machines": 1}
    return Row(name, 0, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.0, config=config)


TABLE = [point(f"{a}{b}", a=a, b=b, same=1) for a in "xy" for b in "uv"]


def test_the_first_axis_that_differs_names_the_rows() -> None:
    layout = by_settings(TABLE, "m", (), ())
    assert layout.corner == ("a",)
    assert [layout.place(row) for row in TABLE][:2] == [("", ("x",), "u"), ("", ("x",), "v")]


def test_columns_that_are_asked_for_leave_the_other_axis() -> None:
    layout = by_settings(TABLE, "m", (), ("a",))
    assert layout.place(TABLE[0]) == ("", ("u",), "x")


def test_without_axes_each_benchmark_has_a_row() -> None:
    layout = by_settings([point("one")], "m", (), ())
    assert layout.place(point("one")) == ("", ("one",), "m")
    assert layout.keeps(point("one"))


def test_what_has_none_of_the_settings_does_not_belong() -> None:
    layout = by_settings(TABLE, "m", ("a",), ("nodes",))
    assert layout.keeps(TABLE[0])
    assert not layout.keeps(point("flops"))


def test_rows_of_a_setting_that_nobody_has() -> None:
    with pytest.raises(SelectionError, match="no benchmark has the setting aa"):
        by_settings(TABLE, "m", ("aa",), ())
