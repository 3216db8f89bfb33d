"""The tables for scripts: records and data frames with the same values."""

import builtins
import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp import report
from milabench_ddp.errors import SelectionError
from milabench_ddp.report.tidy.run_tables import RunTables
from milabench_ddp.report.tidy.tidy_tables import TIDY_TABLES
from tests.support.tidy_runs import make


@pytest.fixture
def found(tmp_path: Path) -> RunTables:
    make(tmp_path / "runs" / "first")
    make(tmp_path / "runs" / "second")
    return report.load(tmp_path / "runs")


def test_records_are_the_lines_of_each_run(found: RunTables, tmp_path: Path) -> None:
    assert [run.name for run in found.runs] == ["first", "second"]
    for name, table in TIDY_TABLES.items():
        records = getattr(found, name)
        assert records
        assert {type(record) for record in records} == {table.line}
        assert {record.run for record in records} == {run.run for run in found.runs}
    assert [report.runs[0].name for report in found.reports] == ["first", "second"]


@pytest.mark.parametrize("name", TIDY_TABLES)
def test_data_frames_have_the_same_values(found: RunTables, name: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame, records = found.frame(name), getattr(found, name)
    assert list(frame.columns) == [column.name for column in TIDY_TABLES[name].columns]
    assert len(frame) == len(records)
    for record, (_, row) in zip(records, frame.iterrows(), strict=True):
        for column in frame.columns:
            value = getattr(record, column)
            if value is None or (isinstance(value, float) and math.isnan(value)):
                assert pandas.isna(row[column])
            else:
                assert row[column] == value


def test_a_table_that_there_is_not(found: RunTables) -> None:
    pytest.importorskip("pandas")
    with pytest.raises(SelectionError, match="no table step: did you mean `steps`"):
        found.frame("step")


def test_records_need_no_pandas(found: RunTables, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name.startswith("pandas"):
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert len(found.steps) == 2 * 2 * 80
    with pytest.raises(SelectionError, match=r"pip install 'milabench_ddp\[export\]'"):
        found.frame("steps")
