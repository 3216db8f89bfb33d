"""The run folders behind what a person names."""

import os
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.errors import RunDirError
from milabench_ddp.results.find_run import named_run, run_folders
from tests.support.result_files import config, end, rates, start, write, write_state


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


@pytest.fixture
def dated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs whose names are not in the order in which they began, one of milabench's own."""
    for name, created in {"b": 3e9, "c": 1e9, "a": 4e9}.items():
        write_state(tmp_path / "runs" / name, "ok", {"x": "ok"}, created=created)
    theirs = tmp_path / "runs" / "theirs"
    file = write(theirs, "x.D0", config("x"), start(), rates([9.0] * 5), end())
    os.utime(file, (2e9, 2e9))
    (tmp_path / "runs" / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_latest_is_the_run_that_began_last(dated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["latest", "latest~0", "latest~1", "latest~2", "latest~3"]
    found = ["runs/a", "runs/a", "runs/b", "runs/theirs", "runs/c"]
    assert [str(named_run(word)) for word in words] == found
    with pytest.raises(RunDirError, match="no run latest~4: runs has 4 runs"):
        named_run("latest~4")
    monkeypatch.chdir("/")
    with pytest.raises(RunDirError, match="no run latest: runs has no runs"):
        named_run("latest")
    assert named_run("latest", dated) == dated / "runs" / "a"
    monkeypatch.setenv("MILABENCH_BASE", str(dated))
    assert run_folders(["latest~1", "c"]) == [dated / "runs" / "b", dated / "runs" / "c"]


def test_a_name_alone_is_that_of_a_run_unless_there_is_such_a_path(dated: Path) -> None:
    assert named_run("theirs") == Path("runs/theirs")
    assert named_run("notes") == Path("notes")  # no run
    assert named_run("./theirs") == Path("theirs")
    for name in ("latest", "b"):
        write_state(dated / name, "ok", {"x": "ok"})
        assert named_run(name) == Path(name)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("report latest~2", "runs/theirs"),
        ("report theirs --baseline latest~2 --table scores", "1.0"),
        ("export latest~2 --to csv out.csv", "out.csv: 1 line\n"),
        ("compare latest~2 c", "before   runs/theirs: "),
        ("history latest~1 latest~2", "2 runs"),
        ("watch b", "runs/b: "),
        ("cancel latest", "runs/a does not run in Slurm"),
        ("run --resume latest", "runs/a/plan.json"),
    ],
)
def test_every_command_that_reads_runs_takes_them(
    dated: Path, words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(words.split())
    shown = capsys.readouterr()
    assert said in shown.out + shown.err


def test_what_is_not_there_is_told_with_the_newest_runs(
    dated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "nosuch"]) == 2
    assert capsys.readouterr().err == "milabench: no run folder nosuch; runs has a, b, theirs, c\n"
    assert main(["report", "thiers"]) == 2
    assert "did you mean `theirs`?" in capsys.readouterr().err
