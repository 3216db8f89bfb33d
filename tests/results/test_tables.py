"""Frames of declared columns: what a damaged file has fits them."""

from typing import Any

import pytest

from milabench_ddp.results.tables import TableColumn, TableSchema


def made(kind: type, values: list[Any]) -> list[object]:
    return TableSchema("", (TableColumn("x", kind, "a value"),)).frame({"x": values})["x"].to_list()


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        (int, 2**63 - 1, 2**63 - 1),
        (int, 2**63, None),
        (int, -(2**63) - 1, None),
        (float, 2**70, 2.0**70),
        (float, 10**400, None),
        (float, 0.1, 0.1),
        (float, float("nan"), None),
        (str, "\udcffé|", "\\udcffé|"),
        (str, None, None),
        (bool, True, True),
    ],
)
def test_what_a_damaged_file_has_fits_its_column(kind: type, value: object, fits: object) -> None:
    (found,) = made(kind, [value])
    assert found == fits
    assert type(found) is type(fits)


def test_one_value_stands_for_all_lines_and_a_missing_column_is_unknown() -> None:
    columns = TableColumn("a", str, ""), TableColumn("b", float, ""), TableColumn("c", int, "")
    schema = TableSchema("", columns)
    frame = schema.frame({"a": "x", "b": [1.0, 2.0]})
    assert frame.rows() == [("x", 1.0, None), ("x", 2.0, None)]
    assert schema.joined([]).columns == ["a", "b", "c"]
    assert schema.joined([{"a": "x", "b": []}, {"a": "y", "b": [3.0]}]).rows() == [("y", 3.0, None)]
