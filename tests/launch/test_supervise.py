"""Real processes, real signals: what depends on them is tested with them."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.events import Data, Ended, Event, Line, Note, Outcome, Started
from milabench_ddp.launch import reap
from milabench_ddp.launch.inbox import Inbox
from milabench_ddp.launch.supervise import LaunchEnd, Supervisor
from milabench_ddp.plan.command import Launch
from tests.support.launches import launch

GRACE = 1.0
EMIT = """
import json, os, sys, time
channel = open(os.environ["MILABENCH_METRICS"], "w", buffering=1)
def emit(**data): channel.write(json.dumps(data) + "\\n")
def rate(value=1.0): emit(task="train", rate=value, units="items/s")
"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
# A program whose ranks lead sessions of their own, are deaf, and have children that are so too.
BROOD = f"""
import subprocess, sys, time
deaf = {DEAF!r}
child = deaf + "import time; time.sleep(60)"
rank = deaf + f"import subprocess, sys, time; " \\
    f"subprocess.Popen([sys.executable, '-c', {{child!r}}], start_new_session=True); time.sleep(60)"
ranks = [subprocess.Popen([sys.executable, "-c", rank], start_new_session=True) for _ in range(2)]
print("up", flush=True)
"""


def supervise(
    what: Launch, on: Callable[[Event, Inbox], None] = lambda event, inbox: None
) -> tuple[LaunchEnd, list[Event]]:
    events: list[Event] = []
    inbox = Inbox()

    def emit(event: Event) -> None:
        events.append(event)
        on(event, inbox)

    try:
        return Supervisor(os.environ, emit, lambda: None, inbox, GRACE).run(what), events
    finally:
        inbox.close()


def left_over() -> set[int]:
    """What a launch of this process has left; pytest's own children are none of it."""
    return {pid for pid in reap.descendants(os.getpid()) if reap.MARK.encode() in _environ(pid)}


def _environ(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


@pytest.fixture(autouse=True)
def _nothing_is_left():
    yield
    assert left_over() == set()


def test_events_of_each_process_are_tagged_and_in_order():
    text = EMIT + "print('out'); print('err', file=sys.stderr); rate(1.0); rate(2.0)"
    end, events = supervise(launch(text, text))
    assert end.outcome is Outcome.OK
    for tag in ("b.D0", "b.D1"):
        mine = [event for event in events if event.tag == tag]
        assert isinstance(mine[0], Started)
        assert isinstance(mine[-1], Ended)
        assert [e.payload["rate"] for e in mine if isinstance(e, Data)] == [1.0, 2.0]
        lines = {(e.stream, e.text) for e in mine if isinstance(e, Line)}
        assert lines == {("stdout", "out\n"), ("stderr", "err\n")}


def test_eight_processes_start_within_50_ms_of_each_other():
    end, _ = supervise(launch(*[EMIT + "rate()"] * 8))
    assert end.start_skew_ms is not None
    assert 0 < end.start_skew_ms < 50


def test_one_process_has_no_skew():
    end, _ = supervise(launch(EMIT + "rate()"))
    assert (end.start_skew_ms, end.begin_skew_ms) == (None, None)


def test_a_deaf_brood_in_sessions_of_its_own_ends_at_the_deadline():
    start = time.monotonic()
    end, events = supervise(launch(BROOD + DEAF + "time.sleep(60)", max_duration=1.5))
    assert any(isinstance(e, Line) and e.text == "up\n" for e in events)
    assert end.outcome is Outcome.TIMEOUT
    assert end.reason == "ended at its max_duration of 1.5 s"
    assert 1.5 < time.monotonic() - start < 1.5 + GRACE + 2.0


def test_what_a_program_leaves_behind_ends_with_it():
    end, _ = supervise(launch(EMIT + BROOD + "rate()"))
    assert end.outcome is Outcome.OK


def test_an_orphan_without_the_mark_is_found_by_its_ancestry():
    orphan = (
        "import subprocess; subprocess.Popen(['env', '-i', 'sleep', '60'], start_new_session=True)"
    )
    end, _ = supervise(launch(EMIT + "rate();" + orphan))
    assert end.outcome is Outcome.OK
    commands = [_comm(pid) for pid in reap.descendants(os.getpid())]
    assert "sleep" not in commands


def _comm(pid: int) -> str:
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def test_a_request_to_stop_is_a_cancel():
    def on(event: Event, inbox: Inbox) -> None:
        if isinstance(event, Data):
            inbox.stop()

    end, _ = supervise(launch(EMIT + "rate(); time.sleep(60)"), on)
    assert end.outcome is Outcome.CANCELLED
    assert end.processes[0].returncode == -signal.SIGTERM


def test_a_second_request_does_not_wait_for_the_grace():
    asked: list[float] = []

    def on(event: Event, inbox: Inbox) -> None:
        if isinstance(event, Data):
            asked.append(time.monotonic())
            inbox.stop()
            inbox.stop()

    end, _ = supervise(launch(DEAF + EMIT + "rate(); time.sleep(60)"), on)
    assert end.outcome is Outcome.CANCELLED
    assert time.monotonic() - asked[0] < GRACE


def test_a_failure_of_one_leaves_the_others_alone():
    end, _ = supervise(launch(EMIT + "sys.exit(3)", EMIT + "time.sleep(0.3); rate()"))
    assert (end.outcome, end.reason) == (Outcome.FAILED, "exit status 3")
    assert [p.outcome for p in end.processes] == [Outcome.FAILED, Outcome.OK]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pass", "it ended with 0 but reported no rate, so nothing was measured"),
        (EMIT + "rate(); emit(loss=float('nan'))", "the loss became NaN"),
        (EMIT + "import signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        (
            EMIT + 'emit(**{"$event": "error", "$data": '
            '{"type": "ValueError", "message": "no", "rank": 3}}); sys.exit(1)',
            "rank 3: ValueError: no",
        ),
        (
            EMIT + 'rate(); emit(**{"$event": "overseer_error", "$data": '
            '{"type": "TypeError", "message": "bad"}})',
            "an instrument failed: TypeError: bad",
        ),
    ],
)
def test_a_failure_has_its_reason(text: str, reason: str):
    end, _ = supervise(launch(text))
    assert (end.outcome, end.reason) == (Outcome.FAILED, reason)


def test_a_program_that_is_not_there_is_a_failure():
    good = launch(EMIT + "rate()")
    process = replace(good.processes[0], argv=("/no/such/program",))
    end, _ = supervise(replace(good, processes=(process,)))
    assert end.outcome is Outcome.FAILED
    assert end.reason == "cannot execute /no/such/program: No such file or directory"


def test_a_program_that_has_enough_is_ended_and_ok():
    text = EMIT + 'rate(); emit(**{"$event": "stop", "$data": None}); time.sleep(60)'
    start = time.monotonic()
    end, _ = supervise(launch(text, text))
    assert end.outcome is Outcome.OK
    assert time.monotonic() - start < 30


READY = """
gate = open(os.environ["MILABENCH_START"])
emit(**{"$event": "ready", "$data": {}})
gate.read()
emit(**{"$event": "begin", "$data": {"time": time.monotonic()}})
rate()
"""


def test_processes_begin_to_measure_together():
    end, events = supervise(launch(EMIT + READY, EMIT + "time.sleep(0.5)" + READY))
    assert end.outcome is Outcome.OK
    kinds = [event.kind for event in events if isinstance(event, Note)]
    assert kinds[:2] == ["ready", "ready"]
    assert end.begin_skew_ms is not None
    assert end.begin_skew_ms < 400  # far less than the 500 ms by which they were apart


def test_a_process_that_dies_does_not_hold_the_barrier():
    end, _ = supervise(launch(EMIT + READY, EMIT + "sys.exit(1)"))
    assert [p.outcome for p in end.processes] == [Outcome.OK, Outcome.FAILED]


def test_garbage_on_the_channel_is_an_event():
    text = EMIT + "channel.write('not json\\n'); rate(); channel.write('[1]\\n')"
    end, events = supervise(launch(text))
    assert end.outcome is Outcome.OK
    assert [e.kind for e in events if isinstance(e, Note)] == ["format_error", "format_error"]


def test_output_that_is_not_utf8_or_never_ends_its_line_is_kept():
    text = EMIT + "rate(); sys.stdout.buffer.write(b'\\xff no newline')"
    _, events = supervise(launch(text))
    assert [e.text for e in events if isinstance(e, Line)] == ["\\xff no newline"]


def test_an_error_of_the_consumer_ends_the_launch():
    def on(event: Event, inbox: Inbox) -> None:
        if isinstance(event, Data):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        supervise(launch(DEAF + EMIT + "rate(); time.sleep(60)"), on)


def test_events_of_other_threads_arrive_while_it_sleeps():
    def on(event: Event, inbox: Inbox) -> None:
        if isinstance(event, Started):
            sample = Data("b.D0", 0.0, {"gpudata": {}})
            threading.Timer(0.1, inbox.put, [sample]).start()

    _, events = supervise(launch(EMIT + "time.sleep(0.5); rate()"), on)
    assert any(isinstance(e, Data) and "gpudata" in e.payload for e in events)


def test_the_environment_is_the_callers_and_what_the_plan_adds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINE", "kept")
    good = launch(EMIT + "rate(); print(os.environ['MINE'], os.environ['ADDED'])")
    process = replace(good.processes[0], env={"ADDED": "a b"})
    _, events = supervise(replace(good, processes=(process,)))
    assert [e.text for e in events if isinstance(e, Line)] == ["kept a b\n"]


def test_a_killed_supervisor_takes_its_programs_with_it(tmp_path):
    script = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from milabench_ddp.launch.inbox import Inbox
from milabench_ddp.launch.supervise import Supervisor
from tests.support.launches import launch
def emit(event): print(getattr(event, "pid", ""), flush=True)
Supervisor(os.environ, emit, lambda: None, Inbox()).run(launch("import time; time.sleep(60)"))
"""
    import subprocess

    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as head:
        assert head.stdout is not None
        pid = int(head.stdout.readline())
        head.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
        reap.bury({pid})
    assert not Path(f"/proc/{pid}").exists()
