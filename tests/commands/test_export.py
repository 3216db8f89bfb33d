"""``milabench export``: which files it writes, and what it refuses."""

import csv
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.export import TABLES
from tests.support.exported_runs import make


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    make(tmp_path / "first")
    monkeypatch.chdir(tmp_path)
    return "first"


def rows_of(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text().splitlines()))


def test_a_folder_gets_a_file_for_each_table(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", run, "--to", "csv", "out/tables"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["out/tables/runs.csv: 1 line", "out/tables/benchmarks.csv: 2 lines"]
    assert {path.name for path in Path("out/tables").iterdir()} == {f"{n}.csv" for n in TABLES}


def test_a_file_gets_one_table(run: str) -> None:
    assert main(["export", run, "--to", "csv", "rows.csv"]) == 0
    assert [row["benchmark"] for row in rows_of("rows.csv")] == ["flops", "gpt"]
    assert main(["export", run, "--table", "events", "--to", "csv", "rows.csv"]) == 0
    assert [row["kind"] for row in rows_of("rows.csv")][:2] == ["start", "error"]
    assert {path.name for path in Path().iterdir()} == {"first", "rows.csv"}


def test_only_some_tables_and_runs_by_a_glob(run: str, tmp_path: Path) -> None:
    make(tmp_path / "second")
    assert main(["export", "--to", "csv", "out", "*s*", "--table", "runs,ranks"]) == 0
    assert {path.name for path in Path("out").iterdir()} == {"runs.csv", "ranks.csv"}
    assert [row["name"] for row in rows_of("out/runs.csv")] == ["first", "second"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "xlsx", "out"], "--to xlsx: unknown; choose from csv, parquet"),
        (["--to", "csv", "t.parquet"], "--to csv t.parquet: its name says parquet"),
        (
            ["--to", "csv", "out", "--table", "step"],
            "--table step: unknown; did you mean `steps`",
        ),
        (["--to", "csv", "t.csv", "--table", "runs,steps"], "t.csv can hold one table, not runs, "),
        (["--to", "csv", "first/gpt.0.data"], "cannot make first/gpt.0.data: File exists"),
    ],
)
def test_what_is_refused(
    run: str, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["export", run, *words]) == 2
    shown = capsys.readouterr()
    assert (shown.out, message in shown.err) == ("", True)
    assert {path.name for path in Path().iterdir()} == {"first"}
