import errno
import fcntl
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results import lock
from milabench_ddp.results.lock import alive, claimed, held, holder, is_alive


def test_a_run_is_alive_while_its_lock_is_held(tmp_path: Path):
    assert not is_alive(tmp_path)
    with alive(tmp_path):
        assert is_alive(tmp_path)
    assert not is_alive(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_killed_is_not(tmp_path: Path):
    code = (
        "import sys; from pathlib import Path; from milabench_ddp.results.lock import alive\n"
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


def test_who_does_not_hold_it_does_not_remove_it(tmp_path: Path):
    """A second watcher that ends must not let the run look dead."""
    with alive(tmp_path) as first:
        with alive(tmp_path) as second:
            assert (first, second) == (True, False)
        assert is_alive(tmp_path)
    assert not is_alive(tmp_path)


def test_of_two_claims_one_is_refused_and_told_who_has_it(tmp_path: Path):
    me = rf"process {os.getpid()} on {os.uname().nodename}, since 20..-..-.. ..:..:.."
    why = rf"has not ended \({me}\): `milabench watch"
    with claimed(tmp_path), pytest.raises(RunDirError, match=why), claimed(tmp_path):
        pass
    with claimed(tmp_path):
        pass


def test_of_many_at_once_one_gets_it(tmp_path: Path):
    def take(_: int) -> ExitStack | None:
        with ExitStack() as stack:
            if stack.enter_context(alive(tmp_path)):
                return stack.pop_all()
        return None

    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            held = [stack for stack in threads.map(take, range(8)) if stack]
            assert len(held) == 1
            held[0].close()


def test_what_a_killed_command_left_is_taken(tmp_path: Path):
    (tmp_path / ".alive").write_text("elsewhere 1 2\n")
    assert not is_alive(tmp_path)
    with alive(tmp_path) as is_mine:
        assert is_mine


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without locks."""

    def refuse(_fd: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("no_locks")
def test_without_locks_whoever_makes_the_file_has_it(tmp_path: Path):
    with alive(tmp_path) as first, alive(tmp_path) as second:
        assert (first, second) == (True, False)
        assert is_alive(tmp_path)
    assert not is_alive(tmp_path)


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_without_locks_a_process_that_is_gone_counts_on_its_own_host_only(
    tmp_path: Path, elsewhere: bool
):
    with subprocess.Popen(["true"]) as gone:
        pass
    host = "elsewhere" if elsewhere else os.uname().nodename
    (tmp_path / ".alive").write_text(f"{host} {gone.pid} 1\n")
    assert is_alive(tmp_path) is elsewhere
    with alive(tmp_path) as is_mine:
        assert is_mine is not elsewhere


def test_of_many_processes_at_once_one_gets_it(tmp_path: Path):
    """Real processes, which all try until one has told that it holds the lock."""
    code = f"""
import sys; from pathlib import Path; from milabench_ddp.results.lock import held
sys.stdin.readline()
with held(Path({str(tmp_path / "lock")!r}), 0.0) as is_mine:
    print(is_mine, flush=True); sys.stdin.readline()
"""
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        processes = []
        for _ in range(4):
            started = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe)
            processes.append(stack.enter_context(started))
        for each in processes:
            assert each.stdin is not None
            each.stdin.write(b"go\n")
            each.stdin.flush()
        said = [each.stdout.readline() for each in processes if each.stdout is not None]
        assert sorted(said) == [b"False\n", b"False\n", b"False\n", b"True\n"]


@pytest.mark.usefixtures("no_locks")
def test_without_locks_of_two_that_see_a_process_gone_one_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The second one has seen that before the first one took the lock, and acts on it after."""
    path = tmp_path / "lock"
    path.write_text(f"{os.uname().nodename} {2**30} 1\n")
    has_taken, has_seen = threading.Event(), threading.Event()
    real = lock._is_stale

    def seen_early(path: Path) -> bool:
        found = real(path)
        if threading.current_thread() is not threading.main_thread():
            has_seen.set()
            has_taken.wait(60)
        return found

    monkeypatch.setattr(lock, "_is_stale", seen_early)
    found = []

    def second() -> None:
        with held(path, 0.0) as is_mine:
            found.append(is_mine)

    thread = threading.Thread(target=second)
    thread.start()
    has_seen.wait(60)
    with held(path) as is_mine:
        has_taken.set()
        thread.join()
        assert (is_mine, found) == (True, [False])
        assert str(os.getpid()) in holder(path)
    assert [*tmp_path.iterdir()] == []


def test_a_link_in_its_place_is_not_followed(tmp_path: Path):
    other = tmp_path / "other"
    other.write_text("of someone else")
    (tmp_path / "lock").symlink_to(other)
    with pytest.raises(RunDirError, match="symbolic"), held(tmp_path / "lock"):
        pass
    assert other.read_text() == "of someone else"


@pytest.mark.parametrize("kind", ["fifo", "folder", "binary", "zeros"])
def test_what_is_in_the_place_of_a_lock_tells_no_holder(tmp_path: Path, kind: str):
    path = tmp_path / ".alive"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "binary":
            path.write_bytes(b"\xff \xfe")
        case "zeros":
            path.symlink_to("/dev/zero")
    assert holder(path) == ""


def test_a_file_in_the_place_of_a_folder_has_no_lock(tmp_path: Path):
    (tmp_path / "b").write_text("")
    assert not is_alive(tmp_path / "b")


def test_a_process_whose_name_is_not_utf_8_has_a_start():
    code = (
        "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'\\xff) \\xfe', 0, 0, 0)\n"
        "print(flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert lock._started(process.pid).isdecimal()
        process.kill()
