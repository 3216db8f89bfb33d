import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from milabench_ddp.launch import keeper as keeper_module
from milabench_ddp.launch import reap
from milabench_ddp.launch.keeper import Keeper, KeptProcess
from milabench_ddp.plan.launch import Process
from tests.support.nested import nested
from tests.support.processes import exists
from tests.support.wait import wait_for

Start = Callable[..., tuple[Keeper, list[KeptProcess]]]
SLEEPS = ("sleep", "600")


def process(*argv: str, env: Mapping[str, str] | None = None) -> Process:
    return Process(("b", "D0"), argv, os.environ if env is None else env, 0, (0,))


def wait(kept: KeptProcess) -> None:
    select.select([kept.control], [], [])


def output(kept: KeptProcess) -> str:
    """What it prints until its end."""
    text = b""
    while chunk := os.read(kept.stdout, 1 << 16):
        text += chunk
    return os.fsdecode(text)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    keepers = []

    def _start(*processes: Process) -> tuple[Keeper, list[KeptProcess]]:
        keeper = Keeper(processes, tmp_path / "folder")
        keepers.append(keeper)
        return keeper, keeper.release()

    yield _start
    for keeper in keepers:
        keeper.close()


def test_no_program_starts_before_all_wait(start: Start):
    before = time.monotonic()
    text = "import time; print(time.monotonic())"
    _, eight = start(*[process(sys.executable, "-c", text)] * 8)
    printed = [float(output(each)) for each in eight]
    assert all(at > each.started for at, each in zip(printed, eight, strict=True))
    assert min(each.started for each in eight) > before


def test_they_start_at_one_moment_which_comes_when_all_wait(
    start: Start, monkeypatch: pytest.MonkeyPatch
):
    moment = time.monotonic_ns() + 300_000_000
    monkeypatch.setattr(time, "monotonic_ns", lambda: moment)
    _, three = start(*[process("true")] * 3)
    assert min(each.started for each in three) >= moment / 1e9


@pytest.mark.parametrize("env", [{"A": "a b", "LC_CTYPE": "C"}, {"A": ""}, {"A": "=\n\udcff"}])
def test_the_environment_is_all_that_a_program_gets(start: Start, env: Mapping[str, str]):
    _, (one,) = start(process("/usr/bin/env", "-0", env=env))
    assert sorted(output(one).split("\0")) == sorted([*map("=".join, env.items()), ""])


def test_each_leads_a_session_of_its_own(start: Start):
    text = "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))"
    _, (one,) = start(process(sys.executable, "-c", text))
    assert output(one) == "True\n"


def test_one_that_cannot_be_executed_does_not_hold_up_the_others(start: Start):
    keeper, (bad, good) = start(process("/no/such/program"), process("echo"))
    assert bad.error == "cannot execute /no/such/program: No such file or directory"
    assert good.error == ""
    assert [output(each) for each in (bad, good)] == ["", "\n"]
    wait(bad)
    assert keeper.end(bad).returncode == 127


def test_a_word_or_a_name_that_no_program_can_get(start: Start):
    _, kept = start(process("echo", "\0"), process("echo", env={"A=B": "c"}))
    assert [each.error for each in kept] == ["cannot execute echo: Invalid argument"] * 2


def test_no_descriptor_is_left(tmp_path: Path):
    before = list(Path("/proc/self/fd").iterdir())
    keeper = Keeper([process("echo"), process("/no/such/program")], tmp_path / "folder")
    keeper.release()
    keeper.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)


@pytest.mark.parametrize(
    ("program", "returncode"),
    [("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV), ("kill -KILL $$", -signal.SIGKILL)],
)
def test_how_it_ended(start: Start, program: str, returncode: int):
    keeper, (one,) = start(process("sh", "-c", program))
    wait(one)
    end = keeper.end(one)
    assert (end.returncode, end.stuck, end.error) == (returncode, frozenset(), "")


def test_it_ends_once_all_that_it_left_has_ended(start: Start):
    text = "setsid sleep 600 & echo $!"
    keeper, (one, other) = start(process("sh", "-c", text), process(*SLEEPS))
    wait(one)
    assert not exists(int(output(one)))
    assert keeper.end(one).returncode == 0
    assert exists(other.pid)


def test_asked_to_end_and_killed(start: Start):
    deaf = "trap '' TERM; sleep 600 & echo up; while :; do wait; done"
    keeper, (quick, slow) = start(process(*SLEEPS), process("sh", "-c", deaf))
    assert os.read(slow.stdout, 3) == b"up\n"
    assert len(slow.family()) == 2
    quick.terminate()
    slow.terminate()
    wait(quick)
    assert keeper.end(quick).returncode == -signal.SIGTERM
    slow.kill()
    wait(slow)
    assert keeper.end(slow).returncode == -signal.SIGKILL
    assert slow.family() == set()


def test_orders_to_one_that_has_ended_are_void(start: Start):
    _, (one,) = start(process("true"))
    wait(one)
    wait_for(lambda: not exists(one.keeper))
    one.terminate()
    one.kill()


def test_of_a_keeper_that_was_killed_nothing_stays(start: Start):
    orphan = "setsid sh -c 'env -i sleep 600 & echo $!; exec sleep 600' & trap '' TERM; wait; wait"
    keeper, (one, other) = start(process("sh", "-c", orphan), process(*SLEEPS))
    sleeper = int(os.read(one.stdout, 20))
    os.kill(one.keeper, signal.SIGKILL)
    wait(one)
    end = keeper.end(one)
    assert (end.returncode, end.error) == (None, "its keeper was killed")
    assert not exists(one.pid)
    assert not exists(sleeper)
    assert exists(other.pid)


@pytest.mark.parametrize("is_told", [False, True])
def test_a_keeper_that_is_stopped_goes_on(start: Start, is_told: bool):
    """When it is told something, and when its program has ended."""
    keeper, (one,) = start(process("sh", "-c", "sleep 600" if is_told else "sleep 0.2; exit 3"))
    os.kill(one.keeper, signal.SIGSTOP)
    if is_told:
        one.kill()
    else:
        select.select([one.pidfd], [], [])
        one.wake_keeper()
    select.select([one.control], [], [])
    end = keeper.end(one)
    assert (end.returncode, end.error) == (-9 if is_told else 3, "")


def test_of_a_keeper_that_does_not_answer_nothing_stays(start: Start):
    keeper, (one, other) = start(process("sh", "-c", "sleep 600 & wait"), process(*SLEEPS))
    os.kill(one.keeper, signal.SIGSTOP)
    end = keeper.end(one)
    assert (end.returncode, end.error) == (None, "its keeper does not answer")
    assert not exists(one.pid)
    assert not exists(one.keeper)
    assert exists(other.pid)


def test_where_both_keepers_were_killed_the_program_ends(start: Start):
    deaf = "trap '' TERM; echo up; sleep 600 & while :; do wait; done"
    keeper, (one,) = start(process("sh", "-c", deaf))
    assert os.read(one.stdout, 3) == b"up\n"
    launch_keeper = reap.parent(one.keeper)
    assert launch_keeper is not None
    for pid in (launch_keeper, one.keeper):
        os.kill(pid, signal.SIGKILL)
    wait(one)
    assert keeper.end(one).error == "its keeper was killed"
    wait_for(lambda: not exists(one.pid))


def test_signals_to_all_processes_of_a_job_do_not_end_the_keepers(start: Start):
    keeper, (one,) = start(process(*SLEEPS))
    keepers = [one.keeper, reap.parent(one.keeper) or 0]
    for pid in keepers:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2, signal.SIGHUP):
            os.kill(pid, number)
    os.kill(one.pid, signal.SIGTERM)
    wait(one)
    assert keeper.end(one).returncode == -signal.SIGTERM


def test_without_room_for_a_process_the_reason_is_told(start: Start):
    def refuses(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    before = list(Path("/proc/self/fd").iterdir())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", refuses)
        with pytest.raises(OSError, match="temporarily unavailable"):
            start(process("true"))
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)


def test_one_that_is_stopped_at_the_latch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keeper_module._receive, "__defaults__", (0.0,))
    keeper = Keeper([process("true")], tmp_path / "folder")
    os.kill(keeper._popen.pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError, match="did not start within 0 s"):
        keeper.release()
    os.kill(keeper._popen.pid, signal.SIGCONT)
    keeper.close()


def test_the_folder_goes_with_the_keeper_and_nothing_that_it_links_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rm").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(keeper_module, "_LEAVE", 600.0)  # rm takes long on a busy machine
    keeper = Keeper([process("true")], folder)
    for each in (outside, folder, folder / "stacks.0"):
        each.mkdir()
    (outside / "kept").touch()
    (folder / "stacks.0" / "link").symlink_to(outside)
    os.mkfifo(folder / "metrics.0")
    with nested(folder / "stacks.0", 2 * sys.getrecursionlimit()):
        keeper.release()
        keeper.close()
    assert not folder.exists()
    assert (outside / "kept").exists()
