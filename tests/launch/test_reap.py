import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.launch import reap
from tests.support.wait import wait_for

SLEEP = ("sleep", "60")


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process with the mark m.0."""
    with subprocess.Popen(SLEEP, env={**os.environ, reap.MARK: "m.0"}) as popen:
        wait_for(lambda: reap.has_mark(popen.pid, "m.0"))  # until then it is still Python
        yield popen
        popen.kill()


def test_a_mark_is_whole_or_begins_with_it_and_a_dot(sleeper: "subprocess.Popen[bytes]"):
    assert reap.has_mark(sleeper.pid, "m.0")
    assert reap.has_mark(sleeper.pid, "m")
    assert not reap.has_mark(sleeper.pid, "m.")
    assert not reap.has_mark(sleeper.pid, "m.00")
    assert reap.marked_processes("m") == {sleeper.pid}
    assert reap.marked_processes("other") == set()


def test_a_process_that_is_gone_has_no_mark(sleeper: "subprocess.Popen[bytes]"):
    sleeper.kill()
    sleeper.wait()
    assert not reap.has_mark(sleeper.pid, "m")


def test_this_process_is_never_among_the_marked(monkeypatch: pytest.MonkeyPatch):
    with open("/proc/self/environ", "rb") as file:
        if reap.MARK.encode() in file.read():  # these tests run under a supervisor themselves
            pytest.skip("this process has a mark")
    text = (
        "import os; from milabench_ddp.launch import reap; "
        "print(reap.has_mark(os.getpid(), 'm'), reap.marked_processes('m'))"
    )
    env = {**os.environ, reap.MARK: "m", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found = subprocess.run(
        [sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True
    )
    assert found.stdout == "True set()\n"


def test_descendants_are_those_of_all_generations(sleeper: "subprocess.Popen[bytes]"):
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=-1) as shell:
        assert shell.stdout is not None
        grandchild = int(shell.stdout.readline())
        found = reap.descendants(os.getpid())
        assert {sleeper.pid, shell.pid, grandchild} <= found
        assert reap.descendants(shell.pid) == {grandchild}
        os.kill(grandchild, signal.SIGKILL)


def test_killed_until_nothing_is_found(sleeper: "subprocess.Popen[bytes]"):
    assert reap.kill_all(lambda: reap.marked_processes("m"), keep=(sleeper.pid,)) == set()
    assert sleeper.wait() == -signal.SIGKILL  # its status was left to be read here


def test_a_zombie_of_our_own_is_reaped():
    with subprocess.Popen(SLEEP) as popen:
        reap.kill_all(lambda: {popen.pid})
        wait_for(lambda: reap.reap_children({popen.pid}) or _is_gone(popen.pid))


def _is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_process_that_is_not_found_again_once_pinned_is_spared(
    sleeper: "subprocess.Popen[bytes]",
):
    answers = [{sleeper.pid}, set[int](), set[int]()]
    assert reap.kill_all(lambda: answers.pop(0)) == set()
    assert sleeper.poll() is None


def test_it_gives_up_on_what_does_not_die(sleeper: "subprocess.Popen[bytes]"):
    rounds = iter(range(100))

    def find() -> set[int]:  # every second time none, so that it is never signalled
        return set() if next(rounds) % 2 else {sleeper.pid}

    assert reap.kill_all(find, timeout=0.0) == {sleeper.pid}
    assert sleeper.poll() is None


def test_pids_of_others_are_not_waited_for():
    reap.reap_children({1, os.getpid()})
