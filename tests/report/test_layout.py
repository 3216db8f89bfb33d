from typing import Any

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.layout import by_settings
from milabench_ddp.report.model import NAN, Row


def point(name: str, **matrix: Any) -> Row:
    config = {"matrix": matrix, "num_machines": 1}
    return Row(name, 0, 1, 1, NAN, NAN, NAN, NAN, NAN, 0.0, config=config)


TABLE = [point(f"{a}{b}", a=a, b=b, same=1) for a in "xy" for b in "uv"]


def test_the_first_axis_that_differs_names_the_rows() -> None:
    layout = by_settings(TABLE, "m", (), ())
    assert layout.corner == ("a",)
    assert [layout.at(row) for row in TABLE][:2] == [("", ("x",), "u"), ("", ("x",), "v")]


def test_columns_that_are_asked_for_leave_the_other_axis() -> None:
    layout = by_settings(TABLE, "m", (), ("a",))
    assert layout.at(TABLE[0]) == ("", ("u",), "x")


def test_without_axes_each_benchmark_has_a_row() -> None:
    layout = by_settings([point("one")], "m", (), ())
    assert layout.at(point("one")) == ("", ("one",), "m")
    assert layout.keeps(point("one"))


def test_what_has_none_of_the_settings_does_not_belong() -> None:
    layout = by_settings(TABLE, "m", ("a",), ("nodes",))
    assert layout.keeps(TABLE[0])
    assert not layout.keeps(point("flops"))


def test_a_setting_that_nobody_has() -> None:
    with pytest.raises(SelectionError, match="no benchmark has the setting aa"):
        by_settings(TABLE, "m", ("aa",), ())
