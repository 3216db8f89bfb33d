import ctypes
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.launch import reap
from milabench_ddp.launch.keeper_main import PR_SET_CHILD_SUBREAPER
from tests.support.processes import exists
from tests.support.wait import wait_for

SLEEP = ("sleep", "600")


@contextmanager
def program(*argv: str, **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(argv, stdout=subprocess.PIPE, **options) as popen:
        yield popen
        popen.kill()


@pytest.fixture
def subreaper() -> Iterator[None]:
    """Makes this process adopt the orphans below it, as a keeper does."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0)


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with program(*SLEEP) as popen:
        yield popen


def first_line(popen: "subprocess.Popen[bytes]") -> bytes:
    assert popen.stdout is not None
    return popen.stdout.readline()


def born(pid: int) -> int:
    stat = reap.read_stat(pid)
    assert stat is not None
    return stat.born


def reap_all(*keep: int) -> None:
    """Read the exit status of each child that was adopted."""
    for pid in all_children() - set(keep):
        os.waitpid(pid, 0)


def has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def all_children() -> set[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return {pid for pid in pids if reap.parent(pid) == os.getpid()}


def test_a_family_is_of_all_generations():
    with program("sh", "-c", "sleep 600 & echo $!; wait") as shell:
        grandchild = int(first_line(shell))
        assert {shell.pid, grandchild} <= reap.family(os.getpid())
        assert reap.family(shell.pid) == {grandchild}
        assert not {shell.pid, grandchild} & reap.family(os.getpid(), spared=[shell.pid])
        os.kill(grandchild, signal.SIGKILL)


def test_a_zombie_is_gone(sleeper: "subprocess.Popen[bytes]"):
    sleeper.kill()
    wait_for(lambda: sleeper.pid not in reap.family(os.getpid()))
    stat = reap.read_stat(sleeper.pid)
    assert stat is not None
    assert stat.is_gone
    sleeper.wait()
    assert reap.read_stat(sleeper.pid) is None
    assert reap.parent(sleeper.pid) is None


# Its first thread ends, and it lives on: a zombie, as far as its state tells.
HEADLESS = """
import ctypes, threading, time
threading.Thread(target=time.sleep, args=[600]).start()
print("up", flush=True)
ctypes.CDLL(None).pthread_exit(None)
"""


def test_one_whose_first_thread_has_ended_is_not_gone(subreaper: None):
    with program("sh", "-c", '"$@" & wait', "sh", sys.executable, "-c", HEADLESS) as shell:
        assert first_line(shell) == b"up\n"
        (pid,) = reap.family(shell.pid)
        wait_for(lambda: b"State:\tZ" in Path(f"/proc/{pid}/status").read_bytes())
        assert reap.family(shell.pid) == {pid}
        assert reap.kill_family(shell.pid) == set()
        assert reap.family(shell.pid) == set()


def test_the_rank_is_a_variable(sleeper: "subprocess.Popen[bytes]"):
    with program(*SLEEP, env={"RANK": "3"}) as third, program(*SLEEP, env={"RANK": "x"}) as other:
        wait_for(lambda: reap.rank(third.pid) == 3)  # until then it is still Python
        assert reap.rank(other.pid) is None
    third.wait()
    assert reap.rank(third.pid) is None


ORPHANS = """
import os, sys
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve("/bin/sleep", ["sleep", "600"], {})
        os._exit(0)
for _ in range(3):
    os.wait()
print("up", flush=True)
sys.stdin.read()
"""


def test_what_was_orphaned_and_cleared_its_environment_is_killed(subreaper: None):
    with program(sys.executable, "-c", ORPHANS, stdin=subprocess.PIPE) as parent:
        assert first_line(parent) == b"up\n"
        orphans = all_children() - {parent.pid}
        assert len(orphans) == 3
        spared = [next(iter(orphans))]
        assert reap.kill_family(os.getpid(), spared=[parent.pid, *spared]) == set()
        reap_all(parent.pid, *spared)
        assert all_children() == {parent.pid, *spared}
        assert reap.kill_family(os.getpid(), spared=[parent.pid]) == set()
        reap_all(parent.pid)


# Each generation lives for a moment; PARENT ends as soon as it has a child.
FORKS = """
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
    time_t end = time(0) + 10;  /* if the test fails */
    write(1, "up\\n", 3);
    while (time(0) < end) {
        if (fork()) _exit(0);
        if (count > 1) setsid();
    }
}
"""


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that forks and ends in a loop; with a word, each in a session of its own."""
    program = tmp_path_factory.mktemp("forks") / "forks"
    command = ["cc", "-x", "c", "-", "-o", str(program)]
    try:
        subprocess.run(command, input=FORKS, text=True, check=True, capture_output=True)
    except OSError:
        pytest.skip("no C compiler")
    return program


@pytest.mark.parametrize("words", [(), ("setsid",)])
def test_one_that_forks_and_ends_in_a_loop_is_killed(
    forks: Path, words: tuple[str, ...], subreaper: None
):
    with subprocess.Popen([forks, *words], stdout=subprocess.PIPE, process_group=0) as first:
        assert first_line(first) == b"up\n"
        assert reap.kill_family(os.getpid(), has_children, limit=20.0) == set()
        assert all_children() == set()


@pytest.mark.parametrize("is_spared", [True, False])
def test_the_newest_process_is_chased_unless_one_above_it_is_spared(
    is_spared: bool, monkeypatch: pytest.MonkeyPatch
):
    with program("sh", "-c", "sleep 600 & echo $!; wait") as shell:
        newest = int(first_line(shell))
        monkeypatch.setattr(os, "pread", lambda *_: b"0.1 0.2 0.3 1/2 %d\n" % newest)
        reap._Hunt(os.getpid(), [shell.pid] if is_spared else []).chase()
        monkeypatch.undo()
        wait_for(lambda: is_spared or shell.poll() is not None)
        assert (newest in reap.family(shell.pid)) == is_spared
        reap.kill_family(shell.pid)


# When one ends, the other starts it again.
MUTUAL = """
import os, sys, time
def start(other):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        watch(other)
    return pid
def watch(other):
    while True:
        try: os.kill(other, 0)
        except ProcessLookupError: other = start(os.getpid())
        try: os.waitpid(-1, os.WNOHANG)
        except ChildProcessError: pass
start(os.getpid())
print("up", flush=True)
os.wait()
"""


def test_two_that_start_each_other_again_are_killed(subreaper: None):
    with program(sys.executable, "-c", MUTUAL) as first:
        assert first_line(first) == b"up\n"
        assert reap.kill_family(os.getpid()) == set()
        first.wait()
        reap_all()


THOUSAND = """
import os, signal
for _ in range(1000):
    if os.fork() == 0:
        os.setsid()
        signal.pause()
print("up", flush=True)
signal.pause()
"""


def test_a_thousand_are_killed_and_none_is_missed(subreaper: None):
    """Each leads a session of its own; their number is beyond that of the descriptors."""
    with program(sys.executable, "-S", "-c", THOUSAND) as parent:
        assert first_line(parent) == b"up\n"
        assert len(reap.family(parent.pid)) == 1000
        assert reap.kill_family(os.getpid(), has_children, limit=60.0) == set()
        assert all_children() == set()


def test_the_processes_of_others_get_no_signal(sleeper: "subprocess.Popen[bytes]"):
    with program("sh", "-c", "sleep 600 & echo $!; wait", process_group=0) as shell:
        first_line(shell)
        reap.kill_family(shell.pid)
        shell.wait()
        assert sleeper.poll() is None
        assert b"State:\tS" in Path(f"/proc/{sleeper.pid}/status").read_bytes()


def test_it_gives_up_on_what_does_not_end(
    sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reap, "ignore_gone", lambda *_: None)  # as one in the kernel
    assert reap.kill_family(os.getpid(), limit=0.0) == {sleeper.pid}
    assert sleeper.poll() is None


def test_a_pid_that_means_another_process_by_now_is_spared(sleeper: "subprocess.Popen[bytes]"):
    assert reap.kill_tree(sleeper.pid, born(sleeper.pid) - 1) == set()
    assert sleeper.poll() is None
    assert reap.kill_tree(sleeper.pid, born(sleeper.pid)) == set()
    assert sleeper.wait() == -signal.SIGKILL
    assert reap.kill_tree(sleeper.pid, 0) == set()


def test_a_process_that_takes_long_to_end_is_waited_for():
    """One that gives back much memory is not gone at once."""
    text = "import time; it = bytearray(2**28); print(flush=True); time.sleep(600)"
    with program(sys.executable, "-S", "-c", text) as large:
        first_line(large)
        assert reap.kill_tree(large.pid, born(large.pid)) == set()
        assert not exists(large.pid)


def test_the_state_of_a_process_with_an_odd_name(tmp_path: Path):
    odd = tmp_path / ") Z (1"
    odd.symlink_to("/bin/sleep")
    with program(str(odd), "600") as popen:
        wait_for(lambda: b") Z (1" in Path(f"/proc/{popen.pid}/stat").read_bytes())
        assert reap.parent(popen.pid) == os.getpid()
        assert not select.select([os.pidfd_open(popen.pid)], [], [], 0)[0]
