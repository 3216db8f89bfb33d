import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results.alive import alive, is_alive


def test_a_run_is_alive_while_its_lock_is_held(tmp_path: Path):
    assert not is_alive(tmp_path)
    with alive(tmp_path):
        assert is_alive(tmp_path)
    assert not is_alive(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_killed_is_not(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from milabench_ddp.results.alive import alive\n"
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
