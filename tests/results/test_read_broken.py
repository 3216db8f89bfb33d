"""Files of a run that are no files, or hold what no parser takes, are told and not waited for."""

import os
from pathlib import Path

import pytest

from milabench_ddp.codec import decode
from milabench_ddp.files import open_file
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.results import read as read_events_module
from milabench_ddp.results.defects import DefectKind
from milabench_ddp.results.read import read_events
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import config, end, rates, start, write, write_state


def make(folder: Path) -> Path:
    for name in ("a", "b"):
        write(folder, f"{name}.D0", config(name), start(), rates([5.0] * 20), end(0, outcome="ok"))
    write_state(folder, "ok", {"a": "ok", "b": "ok"})
    return folder


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("name", ["run.json", "b/state.json", "b.D0.data"])
def test_a_fifo_is_not_waited_for(tmp_path: Path, name: str) -> None:
    run = make(tmp_path / "run")
    fifo(run / name)
    defects = [defect for defect in read_run(run).defects if defect.path == run / name]
    assert [(defect.kind, defect.detail) for defect in defects] == [
        (DefectKind.UNREADABLE, "Not a file")
    ]
    assert f"{name}: cannot be read (Not a file)" in " ".join(report_text(report_of([run])).split())


def test_the_output_of_a_process_may_be_a_fifo(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b"), start(), end(1), stderr="x\n")
    fifo(tmp_path / "b.D0.stderr")
    assert "exit status 1" in report_text(report_of([tmp_path]))


def test_the_lock_may_be_a_fifo(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    write_state(run, None, {"a": "running"})
    os.mkfifo(run / ".alive")
    os.mkfifo(run / "a" / ".alive")
    assert read_run(run).state is not None


@pytest.mark.parametrize("kind", ["folder", "broken link", "loop"])
def test_a_result_file_that_is_none_is_told(tmp_path: Path, kind: str) -> None:
    run = make(tmp_path / "run")
    data = run / "b.D0.data"
    data.unlink()
    if kind == "folder":
        data.mkdir()
    else:
        data.symlink_to(data.name if kind == "loop" else "nowhere")
    (defect,) = read_run(run).defects
    assert (defect.path, defect.kind) == (data, DefectKind.UNREADABLE)


def test_the_folder_of_a_benchmark_may_look_like_a_result_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_state(run, "ok", {"b.data": "ok"})
    assert read_run(run).defects == ()


def test_a_line_that_is_nested_too_deeply(tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000 + "\n"
    path = write(tmp_path, "b", config("b"), start(), deep * 20, rates([2.0]), end())
    record = read_events(path)
    assert [(defect.kind, defect.count) for defect in record.defects] == [(DefectKind.NOT_JSON, 20)]
    assert len(record.rates) == 1


def test_a_state_that_is_nested_too_deeply(tmp_path: Path) -> None:
    run = make(tmp_path / "run")
    RunDir(run).run_json.write_text('{"a":' * 100_000)
    assert any("run.json" in str(defect) for defect in read_run(run).defects)
    with pytest.raises(ValueError, match="nested too deeply"):
        decode("[" * 100_000, list[object])


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_state_that_is_gone(tmp_path: Path, name: str) -> None:
    run = make(tmp_path / "run")
    RunDir(run).state_json(name).unlink()
    (failure,) = report_of([run]).failures
    assert failure.reason == "its state is missing, though it began"
    (run / f"{name}.D0.data").unlink()
    (failure,) = report_of([run]).failures
    assert failure.reason == "its state is missing, though it began"


def test_only_files_are_opened(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        open_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_file(tmp_path / "nothing")


def test_a_file_that_the_reader_itself_fails_at_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make(tmp_path / "run")

    def fails(reader: object, block: bytes) -> None:
        if b'"b"' in block:
            raise LookupError("planted")
        read_block(reader, block)

    read_block = read_events_module._EventReader.read_block
    monkeypatch.setattr(read_events_module._EventReader, "read_block", fails)
    assert [record.name for record in read_run(run).records] == ["a"]
    (defect,) = read_run(run).defects
    assert (defect.path, defect.kind) == (run / "b.D0.data", DefectKind.UNREADABLE)
    assert defect.detail.startswith("milabench itself failed: LookupError: planted (")
