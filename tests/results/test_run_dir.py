import errno
import os
import threading
from pathlib import Path

import pytest

from milabench_ddp.codec import read_record, write_record
from milabench_ddp.errors import RunDirError
from milabench_ddp.results import run_dir
from milabench_ddp.results.run_dir import (
    RunDir,
    archive_attempt,
    create,
    default_name,
    make_folder,
    reserve,
    save_state,
)
from milabench_ddp.results.state import BenchmarkState


def test_a_run_has_a_folder_of_its_own(tmp_path: Path):
    run = create(tmp_path, "mine")
    assert run.path == tmp_path / "runs" / "mine"
    assert run.data("b.D0") == run.path / "b.D0.data"
    assert run.script("b") == run.path / "b" / "command.sh"


def test_a_name_that_is_taken_is_refused_with_a_suggestion(tmp_path: Path):
    create(tmp_path, "mine")
    create(tmp_path, "mine-2")
    with pytest.raises(RunDirError, match=r"'mine' exists already .* --name mine-3$"):
        create(tmp_path, "mine")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a"])
def test_a_name_must_be_one(tmp_path: Path, name: str):
    with pytest.raises(RunDirError, match="cannot name a folder"):
        create(tmp_path, name)


def test_a_base_that_cannot_be_written_fails_before_anything_is_measured(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match="choose a folder with --base"):
        create(tmp_path / "file", None)
    with pytest.raises(RunDirError, match="choose a folder with --base"):
        create(Path("/proc/nowhere"), None)


def test_default_names_differ():
    assert len({default_name() for _ in range(50)}) == 50


def make(run: Path, folders: list[str], files: list[str]) -> None:
    for name in folders:
        (run / name).mkdir(exist_ok=True)
    for name in files:
        (run / name).write_text(name)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_an_earlier_attempt_is_kept_with_all_its_files(tmp_path: Path) -> None:
    first = ["gpt.0.node0.data", "gpt.R1.0.data", "gpt.D0.stdout", "gpt.D0.stderr"]
    others = ["gpt2.D0.data", "gpt.v2.0.data", "my.gpt.0.data", "gpt.txt", "run.json"]
    make(tmp_path, ["gpt", "gpt2", "gpt.v2", "my.gpt"], first + others)
    archive_attempt(RunDir(tmp_path), "gpt")
    assert names(tmp_path / "gpt" / "attempts" / "1") == set(first)
    assert names(tmp_path) == set(others)
    make(tmp_path, [], ["gpt.D1.data"])
    archive_attempt(RunDir(tmp_path), "gpt")
    assert names(tmp_path / "gpt" / "attempts" / "2") == {"gpt.D1.data"}
    archive_attempt(RunDir(tmp_path), "gpt")
    assert len(list((tmp_path / "gpt" / "attempts").iterdir())) == 2


def test_a_name_with_dots_and_brackets(tmp_path: Path) -> None:
    make(tmp_path, ["x", "x.[1]"], ["x.D0.data", "x.[1].D0.data", "x.1.data"])
    archive_attempt(RunDir(tmp_path), "x.[1]")
    assert names(tmp_path) == {"x.D0.data", "x.1.data"}
    assert names(tmp_path / "x.[1]" / "attempts" / "1") == {"x.[1].D0.data"}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, ["x"], ["x.D0.data", "x/attempts"])
    with pytest.raises(RunDirError, match="cannot make"):
        archive_attempt(RunDir(tmp_path), "x")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_state_is_written_in_reserved_room_when_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    run = create(tmp_path, "mine")
    reserved = run.path / ".reserve"
    assert reserved.stat().st_size > 0

    def full(path: Path, record: object) -> None:
        if reserved.stat().st_size:
            cause = OSError(code, "No space left on device")
            raise RunDirError(f"cannot write {path}: {cause.strerror}") from cause
        write_record(path, record)

    monkeypatch.setattr(run_dir, "write_record", full)
    save_state(run, run.state_json("a"), BenchmarkState("a"))
    assert read_record(run.state_json("a"), BenchmarkState) == BenchmarkState("a")
    reserve(run)
    reserved.unlink()
    monkeypatch.setattr(run_dir, "write_record", lambda *_: refuse(OSError(code, "full")))
    with pytest.raises(RunDirError, match="full"):
        save_state(run, run.state_json("a"), BenchmarkState("a"))


def test_room_for_the_end_of_the_run_stays_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run = create(tmp_path, "mine")
    run.run_json.write_bytes(bytes(30_000))
    reserve(run)
    needed = 60_000
    reserved = run.path / ".reserve"

    def full(path: Path, record: object) -> None:
        if reserved.stat().st_size > 65_000 + 60_000 - needed:
            cause = OSError(errno.ENOSPC, "No space left on device")
            raise RunDirError(f"cannot write {path}: {cause.strerror}") from cause

    monkeypatch.setattr(run_dir, "write_record", full)
    save_state(run, run.state_json("a"), BenchmarkState("a"))
    needed = 120_000
    with pytest.raises(RunDirError, match="No space left"):
        save_state(run, run.state_json("b"), BenchmarkState("b"))
    assert reserved.stat().st_size == 60_000
    save_state(run, run.run_json, BenchmarkState("the header"))


def test_a_disk_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run, goes_on = create(tmp_path, "mine"), threading.Event()
    monkeypatch.setattr(run_dir, "write_record", lambda *_: goes_on.wait())
    monkeypatch.setattr(run_dir, "PATIENCE", 0.01)
    with pytest.raises(RunDirError, match=r"state\.json: the disk has not answered for 0\.01 s"):
        save_state(run, run.state_json("a"), BenchmarkState("a"))
    goes_on.set()


def test_a_link_is_no_folder_of_a_run(tmp_path: Path):
    """Who plants it would have its files written elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run = create(tmp_path, "mine")
    run.benchmark("b").symlink_to(elsewhere)
    with pytest.raises(RunDirError, match="it is a link, and is not followed"):
        make_folder(run.benchmark("b"))
    with pytest.raises(RunDirError, match="it is a link, and is not followed"):
        save_state(run, run.state_json("b"), BenchmarkState("b"))
    assert list(elsewhere.iterdir()) == []


def test_a_state_replaces_a_link_and_a_fifo_in_its_place(tmp_path: Path):
    run, secret = create(tmp_path, "mine"), tmp_path / "passwd"
    secret.write_bytes(b"root")
    folder = run.benchmark("b")
    folder.mkdir()
    for plant in (Path.symlink_to, lambda path, _: os.mkfifo(path)):
        plant(run.state_json("b"), secret)
        plant(folder / f".state.json.{os.getpid()}", secret)
        save_state(run, run.state_json("b"), BenchmarkState("b"))
        assert read_record(run.state_json("b"), BenchmarkState) == BenchmarkState("b")
        run.state_json("b").unlink()
    assert secret.read_bytes() == b"root"


def refuse(cause: OSError) -> None:
    raise RunDirError(str(cause.strerror)) from cause
