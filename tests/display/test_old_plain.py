import io
import re

from milabench_ddp.display.plain import PlainDisplay
from milabench_ddp.events import Data, Ended, Event, Note, Outcome, Started
from tests.support.launches import launch


def play(*events: Event, outcome: Outcome, reason: str) -> list[str]:
    times = iter([0.0, 0.0, 12.34])
    out = io.StringIO()
    display = PlainDisplay(out, lambda: next(times))
    it = launch("pass", "pass")
    display.begin(it.benchmark, it)
    for event in events:
        display.see(event)
    display.tick()
    display.end(it.benchmark, outcome, reason)
    lines = out.getvalue().splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)
    return [line[9:] for line in lines]


def rate(value: float, tag: str = "b.D0", **more: object) -> Data:
    return Data(tag, 0.0, {"task": "train", "rate": value, "units": "items/s", **more})


def test_a_line_for_each_event_of_note():
    lines = play(
        Started("b.D0", 0.0, 1, ("x",)),
        Started("b.D1", 0.0, 2, ("x",)),
        rate(1.0, warmup=True),
        rate(1.0, "b.D1", warmup=True),
        Note("b.D0", 0.0, "begin", {}),
        Note("b.D1", 0.0, "begin", {}),
        rate(2.0, warmup=True),  # what was still under way
        rate(1234.5),
        rate(1235.5),
        rate(1236.5, "b.D1"),
        Ended("b.D0", 0.0, 0, Outcome.OK, ""),
        Ended("b.D1", 0.0, 0, Outcome.OK, ""),
        outcome=Outcome.OK,
        reason="",
    )
    assert lines == [
        "b: 2 processes, at most 60 s",
        "b: warm-up",
        "b: measuring",
        "b: ok in 12.3 s, last rate 1236 items/s",
    ]


def test_a_failure_is_named_with_its_process():
    lines = play(
        Ended("b.D1", 0.0, 3, Outcome.FAILED, "exit status 3"),
        outcome=Outcome.FAILED,
        reason="exit status 3",
    )
    assert lines[1:] == ["b.D1: failed: exit status 3", "b: failed in 12.3 s, exit status 3"]


def test_what_never_began_has_no_time():
    out = io.StringIO()
    display = PlainDisplay(out)
    display.end(launch("pass").benchmark, Outcome.CANCELLED, "stopped before it began")
    assert out.getvalue()[9:] == "b: cancelled, stopped before it began\n"
