"""Tables as files: nothing is lost on the way, and no file is left in part."""

import builtins
import csv
import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.errors import RunDirError, SelectionError
from milabench_ddp.report.tidy import tidy_files
from milabench_ddp.report.tidy.columns import TidyColumn
from milabench_ddp.report.tidy.read_runs import read_runs
from milabench_ddp.report.tidy.tidy_files import CsvFile, ParquetFile, write_tables
from milabench_ddp.report.tidy.tidy_tables import TIDY_TABLES
from tests.support.tidy_runs import make

COLUMNS = (
    TidyColumn("word", str, "a word", ""),
    TidyColumn("count", int, "a count", ""),
    TidyColumn("ms", float, "a time", "ms"),
    TidyColumn("steady", bool, "whether", ""),
)
HOSTILE = 'a,"b"\n\udcff;é'
ROWS = [(HOSTILE, 3, 0.1 + 0.2, True), (None, None, math.nan, False), ("", 2**70, 2**70, True)]


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def test_csv_keeps_every_digit_and_every_letter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    file = CsvFile(path, COLUMNS)
    file.write(ROWS)
    file.close()
    first, second, third = csv.DictReader(lines_of(path))
    assert first["word"] == HOSTILE.replace("\udcff", "\\udcff")
    assert (float(first["ms"]), first["steady"], first["count"]) == (0.1 + 0.2, "true", "3")
    assert list(second.values()) == ["", "", "", "false"]
    assert third["count"] == ""  # too large for a count
    assert third["ms"] == str(2.0**70)


def test_parquet_has_types_units_and_nulls(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    file = ParquetFile(path, COLUMNS)
    file.write(ROWS[:2])
    file.write(ROWS[2:])
    file.close()
    table = parquet.read_table(path)
    assert [str(field.type) for field in table.schema] == ["string", "int64", "double", "bool"]
    assert table.schema.field("ms").metadata == {b"meaning": b"a time", b"unit": b"ms"}
    first, second, third = table.to_pylist()
    assert first == {
        "word": HOSTILE.replace("\udcff", "\\udcff"), "count": 3, "ms": 0.1 + 0.2, "steady": True,
    }  # fmt: skip
    assert list(second.values()) == [None, None, None, False]
    assert (third["count"], third["ms"]) == (None, 2.0**70)  # too large for a count


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_all_lines_of_all_runs(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several batches, and without pooling: both runs have the same benchmarks."""
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(tidy_files, "BATCH", 7)
    folders = [str(make(tmp_path / name)) for name in ("first", "second")]
    paths = {name: tmp_path / f"{name}.{kind}" for name in TIDY_TABLES}
    counts = write_tables(folders, kind, paths)
    expected: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TIDY_TABLES}
    for run in read_runs(folders):
        for name, table in TIDY_TABLES.items():
            expected[name] += table.rows(run)
    assert counts == {name: len(rows) for name, rows in expected.items()}
    for name, path in paths.items():
        columns = [column.name for column in TIDY_TABLES[name].columns]
        assert column_of(path, "run") == [row[0] for row in expected[name]]
        assert names_in(path) == columns
    assert sorted(each.suffix for each in tmp_path.iterdir() if each.is_file()) == [
        f".{kind}"
    ] * len(TIDY_TABLES)


def column_of(path: Path, name: str) -> list[Any]:
    if path.suffix == ".csv":
        return [row[name] for row in csv.DictReader(lines_of(path))]
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(path)[name].to_pylist()


def names_in(path: Path) -> list[str]:
    if path.suffix == ".csv":
        return next(csv.reader(lines_of(path)))
    return pytest.importorskip("pyarrow.parquet").read_schema(path).names


def test_a_file_is_left_alone_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_tables([str(make(tmp_path / "first"))], "csv", {"runs": path})
    content = path.read_text()
    with pytest.raises(RunDirError, match="no run folder"):
        write_tables([str(tmp_path / "first"), str(tmp_path / "none")], "csv", {"runs": path})
    assert path.read_text() == content
    assert sorted(each.name for each in tmp_path.iterdir()) == ["first", "t.csv"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "none" / "t.csv"
    with pytest.raises(RunDirError, match=f"cannot write {path}: No such file or directory"):
        write_tables([str(make(tmp_path / "first"))], "csv", {"runs": path})


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any, **named: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *more, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SelectionError, match=r"pyarrow: pip install 'milabench_ddp\[export\]'"):
        write_tables([str(tmp_path)], "parquet", {"runs": tmp_path / "runs.parquet"})
