"""The run folders behind what a person names."""

from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.errors import RunDirError
from milabench_ddp.results.read_run import run_folders
from tests.support.result_files import config, end, rates, start, write


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs in ``base/runs``, a file and a folder beside them, and a run of its own."""
    for name in ("runs/b", "runs/a", "runs/a[1]", "alone"):
        write(tmp_path / "base" / name, "x.D0", config("x"), start(), rates([9.0] * 5), end())
    (tmp_path / "base" / "runs" / "notes.txt").write_text("mine")
    (tmp_path / "base" / "runs" / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return Path("base")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["base/runs/b"], ["runs/b"]),
        (["base/runs/b", "base/runs/a"], ["runs/b", "runs/a"]),  # as they were named
        (["base/runs/*"], ["runs/a", "runs/a[1]", "runs/b"]),  # as where the shell keeps quotes
        (["base/runs"], ["runs/a", "runs/a[1]", "runs/b"]),
        (["base"], ["alone"]),  # what it holds itself
        (["base/runs/a[1]"], ["runs/a[1]"]),  # a name, not a glob
        (["base/**/[ab]"], ["runs/a", "runs/b"]),
        (["base/runs/b", "base/runs"], ["runs/b", "runs/a", "runs/a[1]"]),  # each once
        (["base/none"], ["none"]),  # the reader of runs says that it is not there
        (["base/runs/empty"], ["runs/empty"]),
    ],
)
def test_what_words_name(base: Path, words: list[str], found: list[str]) -> None:
    assert run_folders(words) == [base / name for name in found]


def test_runs_below_a_base_folder(base: Path) -> None:
    assert run_folders([base / "alone" / ".."]) == [base / "alone" / ".." / "alone"]
    (base / "alone" / "x.D0.data").unlink()
    assert run_folders([base]) == [base / "runs" / name for name in ("a", "a[1]", "b")]


def test_a_glob_that_no_run_matches(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunDirError, match="no run folder matches base/runs/c"):
        run_folders(["base/runs/c*"])
    assert main(["report", "base/runs/*.txt"]) == 2
    assert capsys.readouterr().err == "milabench: no run folder matches base/runs/*.txt\n"


def test_the_report_takes_them(base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["base/runs/?"], ["base/runs/a", "base/runs/b"]):
        assert main(["report", *words, "--csv"]) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith("x,0,2,")
    write(base / "runs" / "c", "x.D0", config("x", argv={"-n": 1}), start(), rates([9.0]), end())
    assert main(["report", "base/runs"]) == 2
    assert "runs that differ are not pooled" in capsys.readouterr().err
