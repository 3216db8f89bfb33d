import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results.run_dir import alive, create, default_name, is_alive


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


def test_a_run_is_alive_while_its_lock_is_held(tmp_path: Path):
    assert not is_alive(tmp_path)
    with alive(tmp_path):
        assert is_alive(tmp_path)
    assert not is_alive(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_killed_is_not(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from milabench_ddp.results.run_dir import alive\n"
        f"with alive(Path({str(tmp_path)!r})): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert is_alive(tmp_path)
        holder.kill()
    assert not is_alive(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path):
    with (
        pytest.raises(RunDirError, match=r"cannot write .*/\.alive: No such file"),
        alive(tmp_path / "gone"),
    ):
        pass


def test_a_folder_that_goes_away_meanwhile_is_no_error(tmp_path: Path):
    folder = tmp_path / "run"
    folder.mkdir()
    with alive(folder):
        (folder / ".alive").unlink()
        folder.rmdir()
        folder.write_text("in the way")
    assert not is_alive(tmp_path)
