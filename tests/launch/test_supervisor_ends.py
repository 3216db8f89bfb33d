"""Whatever a program has become or has left behind, its launch ends, and nothing of it stays."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from milabench_ddp.events import Event, Outcome, Output
from milabench_ddp.launch.reap import family
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.launch.supervisor import Supervisor
from tests.support.launches import launch
from tests.support.processes import exists
from tests.support.supervised import EMIT, supervise, supervise_past_deadline
from tests.support.wait import wait_for

# Each says the pid of a process that stays until it is killed.
SAY = """
import os, signal, sys, time
def say(): os.write(1, b"up %d\\n" % os.getpid())
def stay():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say()
    while True: time.sleep(600)
def daemon(*command):  # its parent has ended; it has a session of its own, and no environment
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            say()
            os.execve(command[0], command, {})
        os._exit(0)
    os.close(write)
    os.read(read, 1)  # until it is executed
"""
STAY = SAY + "stay()"
BECOME = "import os, sys; os.execve(sys.executable, [sys.executable, '-c', {!r}], {})"
# The kernel shows a process's environment where it was put at first: it may write there.
OVERWRITTEN = (
    SAY
    + """
import ctypes
fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
begin, end = map(int, fields[47:49])
ctypes.memset(begin, ord("x"), end - begin)
stay()
"""
)
STOPPED = f"""{SAY}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say()
os.kill(os.getpid(), signal.SIGSTOP)
"""
DAEMON = f"{SAY}daemon(sys.executable, '-c', {STAY!r});"
PROGRAMS = {
    "cleared": BECOME.format(STAY, "{}"),
    "overwritten": OVERWRITTEN,
    "stopped": STOPPED,
    "another mark": BECOME.format(STAY, "{name: 'other' for name in os.environ}"),
    "daemon": DAEMON + "signal.pause()",
}


def told(events: list[Event]) -> list[int]:
    """The pids that programs said."""
    lines = [event.text for event in events if isinstance(event, Output)]
    return [int(word) for line in lines if line.startswith("up ") for word in line.split()[1:]]


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_it_ends_at_its_deadline(text: str):
    end, events = supervise_past_deadline(launch(text), up=1)
    assert (end.outcome, end.processes[0].returncode) == (Outcome.TIMEOUT, -signal.SIGKILL)
    assert told(events)
    assert not any(map(exists, told(events)))


@pytest.mark.parametrize("name", ["cleared", "overwritten"])
def test_it_ends_when_it_is_asked_twice(name: str):
    def on(event: Event, requests: StopRequests, _: Supervisor) -> None:
        if isinstance(event, Output):
            requests.stop()
            requests.stop()

    end, events = supervise(launch(PROGRAMS[name]), on)
    assert (end.outcome, end.processes[0].returncode) == (Outcome.CANCELLED, -signal.SIGKILL)
    assert told(events)
    assert not any(map(exists, told(events)))


def test_a_survivor_that_floods_a_pipe_ends():
    end, events = supervise(launch(SAY + EMIT + "daemon('/usr/bin/yes'); rate()"))
    assert end.outcome is Outcome.OK
    assert len(told(events)) == 1
    assert not any(map(exists, told(events)))


def test_a_daemon_of_one_process_ends_with_it_while_the_other_goes_on(tmp_path: Path):
    """It is known whose it was, also without its environment."""
    leaves = DAEMON + EMIT + "rate()"
    waits = SAY + EMIT + f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"
    alive: list[bool] = []

    def on(event: Event, *_: object) -> None:
        if isinstance(event, Output):
            events_so_far.append(event)
        elif event.tag == "b.D0" and type(event).__name__ == "Ended":
            alive.extend(map(exists, told(events_so_far)))
            (tmp_path / "go").touch()

    events_so_far: list[Event] = []
    end, _ = supervise(launch(leaves, waits + "\nrate()"), on)
    assert end.outcome is Outcome.OK
    assert alive
    assert not any(alive)


def test_a_keeper_that_is_killed_is_the_reason():
    def on(event: Event, _requests: StopRequests, running: Supervisor) -> None:
        if isinstance(event, Output):
            (child,) = running._children
            with suppress(ProcessLookupError):  # the daemon says twice that it is up
                os.kill(child._kept.keeper, signal.SIGKILL)

    end, events = supervise(launch(PROGRAMS["daemon"]), on)
    assert (end.outcome, end.reason) == (Outcome.FAILED, "its keeper was killed")
    assert not any(map(exists, told(events)))


# A shell with a child of its own becomes the supervisor; the child has, and gets, children.
HEAD = """
import os, sys
sys.path[:0] = PATH
from milabench_ddp.events import Output, Started
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.launch.supervisor import Supervisor
from tests.support.launches import launch
def emit(event):
    if isinstance(event, Output): os.write(1, event.text.encode())
Supervisor(launch(sys.argv[1]), os.environ, StopRequests(), emit).run()
""".replace("PATH", repr(sys.path))
MONITOR = """
sh -c 'echo $$ >&2; while :; do sleep 0.01; (setsid sleep 600 2>&- & echo "older $!" >&2); done' &
exec "$@"
"""


def test_the_children_of_an_older_child_are_spared():
    words = ["sh", "-c", MONITOR, "sh", sys.executable, "-c", HEAD, SAY + EMIT + "rate()"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as head:
        assert head.stderr is not None
        monitor = int(head.stderr.readline())
        older = [head.stderr.readline() for _ in range(3)]
        assert all(line.startswith("older ") for line in older), older
        head.wait()
        os.kill(monitor, signal.SIGKILL)
        older += head.stderr.readlines()
    pids = [int(line.split()[1]) for line in older]
    try:
        assert all(map(exists, pids))
    finally:
        for pid in filter(exists, pids):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def killed_head(text: str, tmp_path: Path) -> Iterator[list[int]]:
    """The processes of a launch whose supervisor was killed, once they said that they are up."""
    words = [sys.executable, "-c", HEAD, text]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=env) as head:
        assert head.stdout is not None
        pids = [int(word) for word in head.stdout.readline().split()[1:]]
        pids += family(head.pid)
        assert list(tmp_path.iterdir())
        head.kill()
    yield pids


@pytest.mark.parametrize("name", ["cleared", "stopped", "daemon"])
def test_nothing_outlives_a_supervisor_that_is_killed(name: str, tmp_path: Path):
    with killed_head(PROGRAMS[name], tmp_path) as pids:
        wait_for(lambda: not any(map(exists, pids)))
        wait_for(lambda: not list(tmp_path.iterdir()))
