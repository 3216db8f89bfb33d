"""The list of runs, and which of them ``--remove`` removes."""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands import runs as runs_command
from milabench_ddp.results.lock import alive
from tests.support.result_files import config, end, going_on, rates, start, write, write_state

DAY = 86400.0
NOW = time.time()


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Runs that ended, one that goes on, one of milabench's own, and what is no run."""
    folder = tmp_path / "runs"
    states = {"a": "ok", "b": "failed", "c": "skipped", "d": "timeout"}
    write_state(folder / "old", "failed", states, created=NOW - 50 * DAY, ended=NOW - 49 * DAY)
    # begun long ago, and resumed
    write_state(folder / "long", "ok", {"a": "ok"}, created=NOW - 60 * DAY, ended=NOW - 2 * DAY)
    write_state(folder / "cut", None, {"a": "running"}, created=NOW - 40 * DAY)
    write_state(folder / "busy", None, {"a": "running", "b": "ok"}, created=NOW - 90 * DAY)
    write(folder / "theirs", "x.D0", config("x"), start(), rates([9.0] * 5), end())
    write_state(
        tmp_path / "elsewhere", "ok", {"a": "ok"}, created=NOW - 70 * DAY, ended=NOW - 70 * DAY
    )
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "notes").mkdir()
    (folder / "notes" / "mine.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    with going_on(folder / "busy", "a"):
        yield folder


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


ALL = ["busy", "cut", "link", "long", "notes", "old", "theirs"]


def test_the_list_has_the_newest_first(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("milabench_ddp.commands.runs.disk_use", lambda path: (12_345_678, 9))
    assert main(["runs"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["run", "began", "(UTC)", "state", "ok", "failed", "size"]
    assert [[line[0], *line[3:]] for line in lines[1:]] == [
        ["theirs", "-", "-", "-", "12.3", "MB"],
        ["cut", "lost", "0", "1", "12.3", "MB"],
        ["old", "failed", "1", "2", "12.3", "MB"],
        ["long", "ok", "1", "0", "12.3", "MB"],
        ["link", "ok", "1", "0", "12.3", "MB"],
        ["busy", "goes", "on", "1", "0", "12.3", "MB"],
    ]
    assert lines[4][1:3] == time.strftime("%Y-%m-%d %H:%M", time.gmtime(NOW - 60 * DAY)).split()


def test_a_run_without_a_beginning(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "half").mkdir()
    (runs / "half" / "run.json").write_text('{"created":')
    assert main(["runs", "half", "--older-than", "1d", "--remove", "--yes"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[:3] == ["half", "-", "-"]
    assert (runs / "half").exists()


def test_it_says_what_would_be_removed_and_why_not(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "--older-than", "30d"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["cut", "old", "link"]
    assert lines[3].endswith("  a link")
    assert lines[-1].startswith("--remove would remove 2 runs, ")
    assert left(runs) == ALL


def test_only_old_runs_that_have_ended_are_removed(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "--older-than", "30d", "--remove", "--yes"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("removed 2 runs, ")
    assert left(runs) == ["busy", "link", "long", "notes", "theirs"]
    assert (runs.parent / "elsewhere").is_dir()


def test_runs_that_are_named_are_removed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "long", str(runs / "theirs"), "busy", "--remove", "--yes"]) == 0
    assert left(runs) == [name for name in ALL if name != "long"]
    theirs, long, busy, said = capsys.readouterr().out.splitlines()[1:]
    assert theirs.endswith("  not known to have ended")
    assert (busy.endswith("  goes on"), long.endswith("B")) == (True, True)
    assert said.startswith("removed 1 run, ")
    assert main(["runs", str(runs / "notes"), "--remove", "--yes"]) == 2
    assert "notes is not a run folder" in capsys.readouterr().err
    assert (runs / "notes" / "mine.txt").exists()


def test_which_runs_to_remove_must_be_said(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--remove", "--yes"]) == 2
    assert "which runs? name them, or say --older-than" in capsys.readouterr().err
    assert left(runs) == ALL


@pytest.mark.parametrize(
    ("answer", "is_removed"), [("y\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_a_person_is_asked(
    answer: str, is_removed: bool, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = io.StringIO(answer)
    monkeypatch.setattr(stdin, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", stdin)
    assert main(["runs", "long", "--remove"]) == 0
    assert (runs / "long").exists() != is_removed


def test_without_a_person_yes_is_needed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "long", "--remove"]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert (runs / "long").exists()


def test_a_run_that_was_taken_up_meanwhile_is_kept(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = runs_command.listed(runs / "long")
    monkeypatch.setattr(runs_command, "listed", lambda path: ended)
    with alive(runs / "long"):
        assert main(["runs", "long", "--remove", "--yes"]) == 2
    assert "runs/long has not ended" in capsys.readouterr().err
    assert (runs / "long" / "run.json").exists()


def test_no_runs_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == f"no runs in {tmp_path}/runs\n"
