"""Runs as tables: nothing is lost on the way, no run is pooled, and no file is left in part."""

import csv
import json
import math
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from milabench_ddp import report
from milabench_ddp.errors import RunDirError, SelectionError
from milabench_ddp.report import export
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.export import (
    FILE_KINDS,
    TABLES,
    RunTables,
    frame_of,
    write_csv,
    write_parquet,
    write_tables,
)
from milabench_ddp.report.model import Report
from milabench_ddp.results.tables import TableColumn, TableSchema
from tests.support.described_runs import measured
from tests.support.exported_runs import make
from tests.support.result_files import config, end, rates, start, write

ODD = TableSchema(
    "A line.",
    (
        TableColumn("word", str, "a word"),
        TableColumn("count", int, "a count"),
        TableColumn("ms", float, "a time", "ms"),
        TableColumn("steady", bool, "whether"),
    ),
)
HOSTILE = 'a,"b"\n\udcff;é'
SHOWN = HOSTILE.replace("\udcff", "\\udcff")
LINES = [
    {"word": HOSTILE, "count": 3, "ms": 0.1 + 0.2, "steady": True},
    {"ms": math.nan, "steady": False},
    {"word": "=1+1", "count": 2**70, "ms": 2**70, "steady": True},
]


@pytest.fixture
def odd(monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    monkeypatch.setattr(export, "TABLES", {"odd": ODD})
    return ODD.frame_of_lines(LINES)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return report_of([make(tmp_path_factory.mktemp("runs") / "first")])


@pytest.fixture
def found(tmp_path: Path) -> RunTables:
    make(tmp_path / "runs" / "first")
    make(tmp_path / "runs" / "second")
    return report.load(tmp_path / "runs")


def lines_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(keepends=True)))


def test_csv_keeps_every_digit_and_every_letter(odd: pl.DataFrame, tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("wb") as file:
        write_csv("odd", odd, file)
    first, second, third = lines_of(tmp_path / "t.csv")
    assert first["word"] == SHOWN
    assert (float(first["ms"]), first["steady"], first["count"]) == (0.1 + 0.2, "true", "3")
    assert list(second.values()) == ["", "", "", "false"]
    assert (third["word"], third["count"]) == ("'=1+1", "")  # too large for a count


def test_parquet_has_types_units_and_nulls(odd: pl.DataFrame, tmp_path: Path) -> None:
    with (tmp_path / "t.parquet").open("wb") as file:
        write_parquet("odd", odd, file)
    table = pl.read_parquet(tmp_path / "t.parquet")
    assert table.dtypes == [pl.String, pl.Int64, pl.Float64, pl.Boolean]
    about = json.loads(pl.read_parquet_metadata(tmp_path / "t.parquet")["milabench"])
    assert about["ms"] == ["a time", "ms"]
    assert table.rows() == [
        (SHOWN, 3, 0.1 + 0.2, True),
        (None, None, None, False),
        ("=1+1", None, 2.0**70, True),
    ]


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_meaning(run: Report, name: str) -> None:
    names = TABLES[name].names
    assert len(set(names)) == len(names)
    assert names[0] == "run"
    assert all(column.meaning for column in TABLES[name].columns)
    made = frame_of(name, run)
    assert made.columns == names
    assert made["run"].unique().to_list() == [str(run.runs[0].path)]


def test_a_run_has_what_it_was_measured_with(tmp_path: Path) -> None:
    (made,) = frame_of("runs", report_of([measured(tmp_path / "a")])).to_dicts()
    assert (made["run"], made["outcome"], made["preset"]) == (str(tmp_path / "a"), "ok", "full")
    facts = made["torch"], made["driver"], made["devices"]
    assert facts == ("2.15.0+cu132", "580.95", "2 x NVIDIA H100")
    assert (made["rocm"], made["commit"], made["environment"]) == (None, "a" * 12, "NCCL_ALGO=Ring")


def test_benchmarks(run: Report) -> None:
    flops, gpt = frame_of("benchmarks", run).sort("benchmark").to_dicts()
    row = next(row for row in run.rows if row.name == "gpt")
    assert (flops["benchmark"], flops["state"], flops["reason"]) == (
        "flops", "failed", "exit status 1",
    )  # fmt: skip
    assert flops["perf"] is None
    assert (gpt["state"], gpt["perf"], gpt["sem"]) == ("ok", row.perf, row.sem)
    assert (gpt["interval_low"], gpt["interval_high"]) == row.interval
    assert json.loads(gpt["settings"]) == {"size": 7}
    assert gpt["step_ms"] == 41.0


def test_ranks_with_the_items_of_the_ledger(run: Report) -> None:
    made = frame_of("ranks", run)
    assert made["rank"].to_list() == [0, 1]
    assert made["waiting_ms"].to_list() == pytest.approx([10.0, 0.0])
    assert made["forward_ms"].to_list() == pytest.approx([20.0, 30.0])
    assert made["communication_ms"][0] == pytest.approx(10.0)
    assert made["bubble_ms"].to_list() == [None, None]


def test_findings(run: Report) -> None:
    made = frame_of("findings", run)
    assert made["sentence"].to_list() == [each.sentence for each in run.findings]
    assert "failed" in made["name"].to_list()


def test_runs_that_differ_are_each_reported_on_alone(tmp_path: Path) -> None:
    for name, speed in (("a", 10.0), ("b", 20.0)):
        of = config("x", argv={"--speed": speed})
        write(tmp_path / name, "x.D0", of, start(), rates([speed] * 5), end())
    found = report.load(tmp_path)
    assert [row.run for row in found.benchmarks] == [str(tmp_path / name) for name in "ab"]
    assert [each.benchmarks[0].perf for each in found.reports] == [10.0, 20.0]


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_all_lines_of_all_runs(kind: str, tmp_path: Path) -> None:
    """Without pooling: both runs have the same benchmarks."""
    folders = [str(make(tmp_path / name)) for name in ("first", "second")]
    paths = {name: tmp_path / f"{name}.{kind}" for name in TABLES}
    counts = write_tables(folders, kind, paths)
    found = report.load(*folders)
    for name, path in paths.items():
        expected = found.frame(name)
        assert counts[name] == expected.height
        assert column_of(path, "run") == expected["run"].to_list()
        assert names_in(path) == TABLES[name].names
    files = [each.suffix for each in tmp_path.iterdir() if each.is_file()]
    assert files == [f".{kind}"] * len(TABLES)


def column_of(path: Path, name: str) -> list[Any]:
    if path.suffix == ".csv":
        return [row[name] for row in lines_of(path)]
    return pl.read_parquet(path)[name].to_list()


def names_in(path: Path) -> list[str]:
    if path.suffix == ".csv":
        return path.read_text().splitlines()[0].split(",")
    return list(pl.read_parquet_schema(path))


def test_a_file_is_left_alone_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    write_tables([str(make(tmp_path / "first"))], "csv", {"runs": path})
    content = path.read_text()
    with pytest.raises(RunDirError, match="no run folder"):
        write_tables([str(tmp_path / "first"), str(tmp_path / "none")], "csv", {"runs": path})
    assert path.read_text() == content
    assert sorted(each.name for each in tmp_path.iterdir()) == ["first", "t.csv"]


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_folder_that_cannot_be_written(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "none" / f"t.{kind}"
    with pytest.raises(RunDirError, match=f"cannot write {path}: No such file or directory"):
        write_tables([str(make(tmp_path / "first"))], kind, {"runs": path})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such device")
@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_disk_that_is_full(kind: str, tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="cannot write /dev/full: "):
        write_tables([str(make(tmp_path / "first"))], kind, {"runs": Path("/dev/full")})


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_what_is_no_file_is_written_to(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_tables([str(make(tmp_path / "first"))], kind, {"findings": tmp_path / "pipe"})
    assert os.read(reader, 3) in (b"run", b"PAR")
    os.close(reader)


def test_records_are_the_lines_of_each_run(found: RunTables, tmp_path: Path) -> None:
    assert [run.name for run in found.runs] == ["first", "second"]
    assert [report.runs[0].name for report in found.reports] == ["first", "second"]
    assert set(TABLES) <= set(dir(found))
    with pytest.raises(AttributeError, match="step"):
        _ = found.step


@pytest.mark.parametrize("name", TABLES)
def test_frames_have_the_same_values(found: RunTables, name: str) -> None:
    frame, records = found.frame(name), getattr(found, name)
    assert len(records) == frame.height > 0
    assert getattr(found, name) is records
    for record, line in zip(records, frame.iter_rows(named=True), strict=True):
        for column, value in line.items():
            said = getattr(record, column)
            is_unknown_number = value is None and frame.schema[column] == pl.Float64
            assert math.isnan(said) if is_unknown_number else said == value


def test_a_table_that_there_is_not(found: RunTables) -> None:
    with pytest.raises(SelectionError, match="no table step: did you mean `steps`"):
        found.frame("step")
