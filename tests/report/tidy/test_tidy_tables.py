"""The registry of tables: every column says what it is, and every line fits its columns."""

from pathlib import Path

import pytest

from milabench_ddp.report.tidy.read_runs import read_runs
from milabench_ddp.report.tidy.tidy_tables import TIDY_TABLES
from tests.support.tidy_runs import make


@pytest.mark.parametrize("name", TIDY_TABLES)
def test_every_column_has_a_meaning_and_every_value_its_type(name: str, tmp_path: Path) -> None:
    table = TIDY_TABLES[name]
    names = [column.name for column in table.columns]
    assert len(set(names)) == len(names)
    assert names[0] == "run"
    assert all(column.meaning for column in table.columns)
    (run,) = read_runs([make(tmp_path / "first")])
    rows = list(table.rows(run))
    assert rows
    for row in rows:
        for column, value in zip(table.columns, row, strict=True):
            kinds = (int, float) if column.kind is float else (column.kind,)
            assert value is None or isinstance(value, kinds), (column.name, value)
