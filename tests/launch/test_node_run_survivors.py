"""Launches that leave a process which SIGKILL does not end, and launches after them."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.events import Event, Note, Outcome, Output
from milabench_ddp.launch import keeper, reap
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import Survivor
from milabench_ddp.results.write import DataHeader
from tests.support.launches import launch
from tests.support.processes import exists
from tests.support.supervised import DEAF, EMIT
from tests.support.wait import wait_for

STAYS = EMIT + DEAF + "print(os.getpid(), flush=True); time.sleep(600)"
LEAVES = (
    EMIT
    + """
if pid := os.fork():
    rate()
    print(pid, flush=True)
    open(os.environ["HELD"]).close()
else:
    time.sleep(600)
"""
)
RATE = EMIT + "rate()"
FREEZER = Path("/sys/fs/cgroup/freezer")

# What the keepers do: they give up soon.
SOON = f"""
from {reap.__name__} import kill_family
kill_family.__defaults__ = (None, (), 0.1)
"""
# And no signal of theirs gets through, as to a process of another user.
REFUSED = """
import os, signal
def refuse(*_): raise PermissionError
signal.pidfd_send_signal = os.killpg = refuse
"""
Hold = Callable[[int], None]


@pytest.fixture(params=["refused", "frozen"])
def hold(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hold]:
    """Makes a process one that SIGKILL does not end before the test does."""
    cold, held = FREEZER / f"milabench-test-{os.getpid()}", list[int]()
    is_frozen = request.param == "frozen"
    if is_frozen:
        try:
            cold.mkdir()
        except OSError:
            pytest.skip("no freezer of cgroup version 1 that this user may use")
    main = keeper._MAIN.replace("\nmain(", f"{'' if is_frozen else REFUSED}{SOON}\nmain(")
    monkeypatch.setattr(keeper, "_MAIN", main)

    def freeze(pid: int) -> None:
        held.append(pid)
        if is_frozen:
            (cold / "tasks").write_text(str(pid))
            (cold / "freezer.state").write_text("FROZEN")
            wait_for(lambda: (cold / "freezer.state").read_text() == "FROZEN\n")

    yield freeze
    for pid in held:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if is_frozen:
        (cold / "freezer.state").write_text("THAWED")
    for pid in held:
        wait_for(lambda pid=pid: not exists(pid))
    if is_frozen:
        wait_for(lambda: not (cold / "tasks").read_text())
        cold.rmdir()


class Runner:
    """Runs launches, each of a benchmark of its own, and holds the process that one prints."""

    def __init__(self, folder: Path, requests: StopRequests, hold: Hold) -> None:
        self.notes: list[object] = []
        self.held = 0
        self._fifo = folder / "held"
        os.mkfifo(self._fifo)
        environ = {**os.environ, "HELD": str(self._fifo)}
        self._requests, self._hold = requests, hold
        header, router = DataHeader("r", "cpu", {}), SampleRouter()
        self._runner = LaunchRunner(RunDir(folder), header, router, environ, 0.1)

    def run(self, name: str, text: str, *, is_stopped: bool = False) -> tuple[Outcome, int | None]:
        """Run a program; tells how its process ended."""

        def emit(event: Event) -> None:
            if isinstance(event, Note) and event.kind == "message":
                self.notes.append(event.data)
            if not isinstance(event, Output) or not event.text.strip().isdigit():
                return
            self.held = int(event.text)
            self._hold(self.held)
            if is_stopped:
                self._requests.stop()
                self._requests.stop()
            else:
                self._fifo.open("w").close()

        planned = launch(text)
        (process,) = planned.processes
        planned = replace(
            planned,
            benchmark=replace(planned.benchmark, name=name),
            processes=(replace(process, tag=(name, "D0")),),
        )
        state = self._runner.run(planned, self._requests, emit)
        self.survivors = state.survivors
        return state.outcome, state.processes[0].returncode


@pytest.mark.parametrize(
    ("text", "is_stopped", "how"),
    [(STAYS, True, (Outcome.CANCELLED, None)), (LEAVES, False, (Outcome.OK, 0))],
    ids=["itself", "a child"],
)
def test_it_is_told_by_its_launch_and_by_each_one_after_it_while_it_lives(
    tmp_path: Path,
    requests: StopRequests,
    hold: Hold,
    text: str,
    how: tuple[Outcome, int | None],
    *,
    is_stopped: bool,
) -> None:
    runner = Runner(tmp_path, requests, hold)
    assert runner.run("b", text, is_stopped=is_stopped) == how
    (left,) = runner.survivors
    assert (left.pid, left.benchmark) == (runner.held, "b")
    assert reap.is_alive(left.pid, left.born)
    assert runner.notes == [f"still alive after SIGKILL: [{left.pid}]"]
    requests.stops = 0
    for name in ("later", "last"):
        assert runner.run(name, RATE) == (Outcome.OK, 0)
        assert runner.survivors == (left,)


def test_one_that_has_ended_since_is_told_no_more(tmp_path: Path, requests: StopRequests) -> None:
    own = reap.read_stat(os.getpid())
    assert own is not None
    lives = Survivor(os.getpid(), own.born, "b")
    earlier = (lives, replace(lives, born=own.born - 1))  # another process had that pid
    header, router = DataHeader("r", "cpu", {}), SampleRouter()
    runner = LaunchRunner(RunDir(tmp_path), header, router, os.environ, 0.1, survivors=earlier)
    assert runner.run(launch(RATE), requests, lambda _: None).survivors == (lives,)
