"""Real processes, real signals: what depends on them is tested with them."""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.events import Data, Ended, Event, Note, Outcome, Output, Started, Verdict
from milabench_ddp.launch import supervisor
from milabench_ddp.launch.child import Child
from milabench_ddp.launch.keeper import KeptProcess
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.launch.supervisor import Supervisor
from tests.support.launches import launch
from tests.support.processes import exists
from tests.support.supervised import DEAF, DEAF_RANKS, EMIT, supervise

NO_GRACE_IN_SIGHT = 1e6  # seconds: a test that waited for it would never end


def test_events_of_each_process_are_tagged_and_in_order():
    text = EMIT + "print('out'); print('err', file=sys.stderr); rate(1.0); rate(2.0)"
    end, events = supervise(launch(text, text))
    assert end.outcome is Outcome.OK
    for tag in ("b.D0", "b.D1"):
        mine = [event for event in events if event.tag == tag]
        assert isinstance(mine[0], Started)
        assert isinstance(mine[-1], Ended)
        assert [e.payload["rate"] for e in mine if isinstance(e, Data)] == [1.0, 2.0]
        lines = {(e.stream, e.text) for e in mine if isinstance(e, Output)}
        assert lines == {("stdout", "out\n"), ("stderr", "err\n")}


def test_what_a_program_leaves_behind_ends_with_it():
    end, _ = supervise(launch(EMIT + DEAF_RANKS + "rate()"))
    assert end.outcome is Outcome.OK


def test_a_request_to_stop_is_a_cancel():
    def on(event: Event, requests: StopRequests, _: Supervisor) -> None:
        if isinstance(event, Data):
            requests.stop()

    end, _ = supervise(launch(EMIT + "rate(); time.sleep(60)"), on)
    assert (end.outcome, end.reason) == (Outcome.CANCELLED, "stopped on request")
    assert end.processes[0].returncode == -signal.SIGTERM


def test_a_second_request_does_not_wait_for_the_grace():
    def on(event: Event, requests: StopRequests, _: Supervisor) -> None:
        if isinstance(event, Data):
            requests.stop()
            requests.stop()

    text = DEAF + EMIT + "rate(); time.sleep(1000)"
    end, _ = supervise(launch(text), on, grace=NO_GRACE_IN_SIGHT)
    assert end.outcome is Outcome.CANCELLED
    assert end.processes[0].returncode == -signal.SIGKILL


def test_a_request_from_before_the_start_counts(requests: StopRequests):
    requests.stop(Verdict(Outcome.LOST, "its other nodes are gone"))
    end = Supervisor(launch("import time; time.sleep(60)"), {}, requests, lambda _: None).run()
    assert (end.outcome, end.reason) == (Outcome.LOST, "its other nodes are gone")


def test_a_failure_of_one_leaves_the_others_alone():
    end, _ = supervise(launch(EMIT + "sys.exit(3)", EMIT + "time.sleep(0.3); rate()"))
    assert (end.outcome, end.reason) == (Outcome.FAILED, "exit status 3")
    assert [p.outcome for p in end.processes] == [Outcome.FAILED, Outcome.OK]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pass", "exit status 0, but it told no rate: nothing was measured"),
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
    end, _ = supervise(launch(text, text))
    assert end.outcome is Outcome.OK


def test_one_that_has_enough_waits_for_the_others():
    stop = 'rate(); emit(**{"$event": "stop", "$data": None}); '
    early, late = EMIT + stop + "time.sleep(60)", EMIT + "time.sleep(0.3);" + stop
    end, events = supervise(launch(early, late + "time.sleep(60)"))
    assert end.outcome is Outcome.OK
    kinds = [
        e.kind if isinstance(e, Note) else "end" for e in events if isinstance(e, Note | Ended)
    ]
    assert kinds == ["stop", "stop", "end", "end"]


READY = """
barrier = open(os.environ["MILABENCH_START"])
emit(**{"$event": "ready", "$data": {}})
barrier.read()
emit(**{"$event": "begin", "$data": {"time": time.monotonic()}})
rate()
"""


def test_processes_begin_to_measure_together():
    end, events = supervise(launch(EMIT + READY, EMIT + "time.sleep(0.5)" + READY))
    assert end.outcome is Outcome.OK
    kinds = [event.kind for event in events if isinstance(event, Note)]
    assert kinds == ["ready", "ready", "begin", "begin"]


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
    assert [e.text for e in events if isinstance(e, Output)] == ["\\xff no newline"]


def test_an_error_of_the_consumer_ends_the_launch():
    def on(event: Event, _: StopRequests, __: Supervisor) -> None:
        if isinstance(event, Data):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        supervise(launch(DEAF + EMIT + "rate(); time.sleep(60)"), on)


def test_an_error_in_the_midst_of_the_start_ends_what_was_started(
    monkeypatch: pytest.MonkeyPatch, requests: StopRequests
):
    pids: list[int] = []

    def make(kept: KeptProcess, *rest: Any) -> Child:
        pids.append(kept.pid)
        if len(pids) == 2:
            raise OSError("too many open files")
        return Child(kept, *rest)

    monkeypatch.setattr(supervisor, "Child", make)
    sleeps = launch("import time; time.sleep(1000)", "import time; time.sleep(1000)")
    with pytest.raises(OSError, match="too many open files"):
        Supervisor(sleeps, os.environ, requests, lambda _: None).run()
    assert not any(map(exists, pids))


def test_events_of_other_threads_arrive_while_it_sleeps(tmp_path: Path):
    arrived = tmp_path / "arrived"

    def on(event: Event, _: StopRequests, running: Supervisor) -> None:
        if isinstance(event, Started):
            sample = Data("b.D0", 0.0, {"gpudata": {}})
            threading.Timer(0.1, running.post, [sample]).start()
        elif isinstance(event, Data) and "gpudata" in event.payload:
            arrived.touch()

    text = f"while not os.path.exists({str(arrived)!r}): time.sleep(0.01)"
    end, _ = supervise(launch(EMIT + text + "\nrate()"), on)
    assert end.outcome is Outcome.OK


def test_the_environment_is_the_callers_and_what_the_plan_adds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MINE", "kept")
    good = launch(EMIT + "rate(); print(os.environ['MINE'], os.environ['ADDED'])")
    process = replace(good.processes[0], env={"ADDED": "a b"})
    _, events = supervise(replace(good, processes=(process,)))
    assert [e.text for e in events if isinstance(e, Output)] == ["kept a b\n"]
