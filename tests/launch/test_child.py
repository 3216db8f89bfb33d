"""One real process, read by the test in the place of a supervisor."""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from milabench_ddp.events import Data, Ended, Event, Note, Outcome, Output, Started, Verdict
from milabench_ddp.launch import child as child_module
from milabench_ddp.launch import reap
from milabench_ddp.launch.channel import METRICS, Fifo
from milabench_ddp.launch.child import Child
from milabench_ddp.launch.keeper import Keeper, ProcessEnd
from milabench_ddp.launch.stack_frames import Frame
from milabench_ddp.launch.stacks import STACKS, Looked
from milabench_ddp.plan.launch import Process
from milabench_ddp.results.state import RankCall
from tests.support.processes import exists
from tests.support.supervised import DEAF, DEAF_RANKS, EMIT, singly

Start = Callable[..., Child]


class Emitted(list[Event]):
    """The events of a child, line by line."""

    def add(self, event: Event) -> None:
        self.extend(singly(event))

    def of(self, kind: type) -> list[Event]:
        return [event for event in self if isinstance(event, kind)]


@pytest.fixture
def events() -> Emitted:
    return Emitted()


@pytest.fixture
def start(tmp_path: Path, events: Emitted) -> Iterator[Start]:
    """Start a program of these lines of Python, or with ``argv`` this one."""
    import sys

    made: list[Child] = []
    stack = ExitStack()

    def _start(text: str = "", argv: tuple[str, ...] = (), job: int | None = None) -> Child:
        fifo = Fifo(tmp_path / f"metrics.{len(made)}")
        argv = argv or (sys.executable, "-u", "-c", text)
        stack.callback(fifo.close)
        env = {**os.environ, METRICS: str(fifo.path), STACKS: str(tmp_path / "stacks")}
        process = Process(("b", "D0"), argv, env, 0, (0,), job)
        keeper = Keeper([process], tmp_path / "folder")
        stack.callback(keeper.close)
        (kept,) = keeper.release()
        child = Child(kept, keeper, fifo, events.add)
        stack.callback(child.close)
        made.append(child)
        return child

    with stack:
        yield _start


def wait(child: Child) -> None:
    select.select([child.exit_fd], [], [])


def test_its_events_have_its_tag(start: Start, events: Emitted):
    child = start(EMIT + "print('out'); print('err', file=sys.stderr); rate(2.0); rate(3.0)")
    child.emit_start()
    wait(child)
    end = child.finish(None)
    assert {event.tag for event in events} == {"b.D0"}
    (started,) = events.of(Started)
    assert isinstance(started, Started)
    assert started.pid == end.pid == child.pid
    assert started.time == end.started
    lines = {(event.stream, event.text) for event in events if isinstance(event, Output)}
    assert lines == {("stdout", "out\n"), ("stderr", "err\n")}
    assert [e.payload["rate"] for e in events if isinstance(e, Data)] == [2.0, 3.0]
    assert isinstance(events[-1], Ended)
    assert (end.outcome, end.reason, end.returncode, end.told.usable) == (Outcome.OK, "", 0, 2)
    assert end.ended == events[-1].time >= end.started


def test_a_pipe_is_read_until_its_end(start: Start, events: Emitted):
    child = start("import os, sys; os.write(1, b'\\xff half'); os.close(1); sys.stdin.read()")
    stdout = child.pipes[0]
    open_pipe = True
    while open_pipe:
        select.select([stdout], [], [])
        open_pipe = child.read(stdout)
    assert [event.text for event in events if isinstance(event, Output)] == ["\\xff half"]
    wait(child)
    child.finish(None)


def test_an_empty_pipe_has_not_ended(start: Start, events: Emitted):
    child = start("import time; time.sleep(60)")
    assert child.read(child.pipes[0])
    assert events == []
    child.terminate()
    wait(child)
    end = child.finish(Verdict(Outcome.TIMEOUT, "late"))
    assert (end.outcome, end.reason, end.returncode) == (Outcome.TIMEOUT, "late", -signal.SIGTERM)


def test_killed_with_all_that_it_has_started(start: Start):
    child = start(DEAF + DEAF_RANKS + "time.sleep(60)")
    select.select([child.pipes[0]], [], [])  # it says that its ranks are up
    ranks = reap.family(child.pid)
    assert len(ranks) >= 2
    child.terminate()
    child.kill()
    wait(child)
    assert child.finish(None).reason == "killed by SIGKILL"
    assert not any(map(exists, ranks))


def test_what_it_has_left_behind_ends_before_it_is_judged(start: Start, events: Emitted):
    child = start(EMIT + DEAF_RANKS + "rate(); print([rank.pid for rank in ranks])")
    wait(child)
    assert child.finish(None).outcome is Outcome.OK
    ranks = json.loads([event.text for event in events if isinstance(event, Output)][-1])
    assert len(ranks) == 2
    assert not any(map(exists, ranks))


def test_one_that_goes_on_writing_does_not_hold_it_up(
    start: Start, events: Emitted, monkeypatch: pytest.MonkeyPatch
):
    """Nobody below it does: as if a process that is not its own had got hold of its pipe."""
    read_now = child_module._read_now

    def read_when_it_has_written(fd: int) -> bytes | None:
        """As on a machine where the writer always gets its turn; the metrics have none."""
        select.select([fd], [], [], None if Path(f"/proc/self/fd/{fd}").readlink() == pipe else 0)
        return read_now(fd)

    child = start(EMIT + "rate(); time.sleep(600)")
    stdout = os.open(f"/proc/{child.pid}/fd/1", os.O_WRONLY)
    pipe = Path(f"/proc/{child.pid}/fd/1").readlink()
    monkeypatch.setattr(child_module, "_read_now", read_when_it_has_written)
    with subprocess.Popen(["yes"], stdout=stdout) as other:
        os.close(stdout)
        child.kill()
        wait(child)
        child.finish(None)
        other.kill()
    notes = [event.data for event in events if isinstance(event, Note)]
    assert notes == ["a process keeps writing to its stdout: the rest is not kept"]
    assert len(events.of(Output)) <= 3 * (1 << 15)  # what a pipe holds, after what was read before


def test_a_program_that_could_not_start_says_why(start: Start, events: Emitted):
    child = start(argv=("/no/such/program",))
    wait(child)
    end = child.finish(None)
    reason = "cannot execute /no/such/program: No such file or directory"
    assert (end.outcome, end.reason, end.returncode) == (Outcome.FAILED, reason, 127)
    assert [event.reason for event in events if isinstance(event, Ended)] == [reason]


@pytest.mark.parametrize(("job", "outcome"), [(None, Outcome.FAILED), (0, Outcome.OK)])
def test_one_node_of_many_need_not_report_a_rate(start: Start, job: int | None, outcome: Outcome):
    child = start("pass", job=job)
    wait(child)
    assert child.finish(None).outcome is outcome


def test_a_process_that_does_not_die_is_named(
    start: Start, events: Emitted, monkeypatch: pytest.MonkeyPatch
):
    stuck = ProcessEnd(-signal.SIGKILL, frozenset([123]))
    monkeypatch.setattr(Keeper, "end", lambda *_: stuck)
    child = start("pass")
    wait(child)
    child.finish(None)
    assert [event.data for event in events if isinstance(event, Note)] == [
        "still alive after SIGKILL: [123]"
    ]


@pytest.mark.parametrize(("ago", "hangs"), [((3600, 0), False), ((7201, 7200), True)])
def test_a_slow_program_does_not_hang(
    start: Start, events: Emitted, ago: tuple[float, ...], hangs: bool
):
    """Both are in a loop of one line, which no look ever finds elsewhere."""
    child = start(EMIT + "rate(); rate(); print('up', flush=True)\nwhile True: sum(range(999))")
    for fd in child.pipes[1:]:
        select.select([child.pipes[0]], [], [])
        child.read(fd)
    last = child.observed.times.pop()
    child.observed.times.extend(last - seconds for seconds in ago)
    child.begin_look().found(time.monotonic())
    here = ((Frame("main.py", 7, "main"),),)
    call = RankCall(None, "R", "main.py:7 in main", "")
    child.looked = [Looked(child.pid, True, "python main.py", here, call)]
    child.kill()
    wait(child)
    end = child.finish(Verdict(Outcome.TIMEOUT, "ended at its max_duration of 600 s"))
    outputs = [each for each in events if isinstance(each, Output)]
    stacks = next(each.text for each in outputs if each.stream == "stacks")
    (ended,) = (each for each in events if isinstance(each, Ended))
    assert end.told.usable == 2
    assert stacks.startswith("it hangs in main.py:7" if hangs else "it is in main.py:7")
    assert ("it hangs" in ended.reason, "it goes on: 2 observations" in end.reason) == (
        hangs, not hangs,
    )  # fmt: skip
