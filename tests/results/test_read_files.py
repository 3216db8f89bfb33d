"""Large files are read once: from then on, from their tables."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.results import read_files as files
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.run_dir import RunDir
from tests.support.rates import noisy
from tests.support.result_files import config, end, rates, start, write, write_state


def make(folder: Path, outcome: str | None = "ok") -> Path:
    for device in range(3):
        told = rates(noisy(100, 0.5, device), lr=0.5)
        settings = config("b", tag=["b", f"D{device}"], device=device)
        write(folder, f"b.D{device}", settings, start(), told, end(0, outcome="ok"))
    write_state(folder, outcome, {"b": "ok" if outcome else "running"})
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read by this process; each is large enough for a table."""
    monkeypatch.setattr(files, "SMALLEST", 1)
    found: list[str] = []

    def noted(path: Path) -> object:
        found.append(path.name)
        return original(path)

    original = files.read_events
    monkeypatch.setattr(files, "read_events", noted)
    return found


def shown(folder: Path) -> str:
    return FORMATS["json"].report(report_of([folder]))


def test_the_second_report_is_of_the_tables(tmp_path: Path, read: list[str]) -> None:
    run = make(tmp_path / "run")
    first = shown(run)
    assert read == ["b.D0.data", "b.D1.data", "b.D2.data"]
    names = sorted(table.name for table in RunDir(run).tables.iterdir())
    assert names == ["b.D0.table", "b.D1.table", "b.D2.table"]
    assert shown(run) == first
    assert len(read) == 3
    with (run / "b.D1.data").open("a") as data:
        data.write("\n")
    RunDir(run).tables.joinpath("b.D2.table").write_bytes(b"damaged")
    assert shown(run) == first
    assert read[3:] == ["b.D1.data", "b.D2.data"]


def test_a_run_that_goes_on_has_no_tables(tmp_path: Path, read: list[str]) -> None:
    run = make(tmp_path / "run", outcome=None)
    from milabench_ddp.results.lock import alive

    with alive(run), alive(run / "b"):
        read_run(run)
    assert len(read) == 3
    assert not RunDir(run).tables.exists()


def test_a_run_of_milabench_that_has_not_ended_has_none(tmp_path: Path, read: list[str]) -> None:
    run = make(tmp_path / "run")
    (run / "run.json").unlink()
    data = run / "b.D0.data"
    ended = data.read_text()
    data.write_text(ended[: ended.index('{"event": "end"')])
    read_run(run)
    assert not RunDir(run).tables.exists()
    data.write_text(ended)
    read_run(run)
    assert RunDir(run).tables.exists()


def test_a_folder_that_cannot_be_written_needs_no_tables(tmp_path: Path, read: list[str]) -> None:
    run = make(tmp_path / "run")
    first = shown(run)
    for table in RunDir(run).tables.iterdir():
        table.unlink()
    RunDir(run).tables.rmdir()
    RunDir(run).tables.write_text("in the way")
    assert shown(run) == first


def test_other_processes_read_many_files(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path / "run")
    alone = shown(run)
    for table in RunDir(run).tables.iterdir():
        table.unlink()
    del read[:]
    monkeypatch.setattr(files, "SHARED", 1)
    monkeypatch.setattr(files.os, "sched_getaffinity", lambda pid: {0, 1})
    assert shown(run) == alone
    assert read == []
    # without tables in its folder, as while it goes on, they are in a temporary one
    records = files.read_files(sorted(run.glob("*.data")), None)
    assert [len(record.rates) for record in records] == [100] * 3
    assert read == []


def test_files_that_other_processes_cannot_read_are_read_here(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path / "run")
    monkeypatch.setattr(files, "SHARED", 1)
    monkeypatch.setattr(files.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(files.sys, "executable", "/bin/false")
    assert len(read_run(run).records) == 3
    assert sorted(read) == ["b.D0.data", "b.D1.data", "b.D2.data"]
