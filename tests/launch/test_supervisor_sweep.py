"""What launches have left in /tmp is swept, and nothing else."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.launch import supervisor
from milabench_ddp.launch.supervisor import sweep
from tests.support.launches import launch
from tests.support.supervised import supervise

LONG_AGO = 1e9
HOLD = """
import fcntl, os, sys
fcntl.flock(os.open(sys.argv[1], 0), fcntl.LOCK_EX)
print("held", flush=True)
input()
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes the folder of a launch, as a power-off leaves it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def make(name: str) -> Path:
        folder = tmp_path / f"{supervisor._FOLDER}{name}"
        (folder / "stacks.0" / "deep").mkdir(parents=True)
        os.mkfifo(folder / "metrics.0")
        os.utime(folder, (LONG_AGO, LONG_AGO))
        return folder

    return make


def test_what_a_power_off_has_left_is_removed(make: Callable[[str], Path], tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "kept").touch()
    left = make("a")
    (left / "link").symlink_to(elsewhere)
    os.utime(left, (LONG_AGO, LONG_AGO))
    sweep()
    assert not left.exists()
    assert (elsewhere / "kept").exists()


def test_what_is_not_ours_or_goes_on_stays(
    make: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_host = make("a").rename(tmp_path / "milabench-elsewhere-a")
    new = make("new")
    os.utime(new)
    runs, target = make("runs"), make("target").rename(tmp_path / "target")
    link = tmp_path / f"{supervisor._FOLDER}link"
    link.symlink_to(target)
    file = tmp_path / f"{supervisor._FOLDER}file"
    file.touch()
    os.utime(file, (LONG_AGO, LONG_AGO))
    command = [sys.executable, "-c", HOLD, str(runs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        sweep()
        assert all(map(os.path.lexists, (other_host, new, runs, target, link, file)))
        holder.kill()
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    sweep()
    assert runs.exists()
    monkeypatch.setattr(os, "getuid", lambda: mine)
    sweep()
    assert not runs.exists()


def test_a_launch_holds_its_folder(make: Callable[[str], Path], tmp_path: Path) -> None:
    del make
    text = """
import fcntl, os, pathlib
folder = pathlib.Path(os.environ["MILABENCH_METRICS"]).parent
os.utime(folder, (1e9, 1e9))
try:
    fcntl.flock(os.open(folder, 0), fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("held", flush=True)
"""
    _, events = supervise(launch(text))
    assert "held" in "".join(getattr(event, "text", "") for event in events)
    assert list(tmp_path.iterdir()) == []
