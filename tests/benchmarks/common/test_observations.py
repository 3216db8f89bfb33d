import pytest

from benchmarks.common import observations, session
from benchmarks.common.group import Group
from benchmarks.common.metrics import Emitter
from benchmarks.common.observations import timed_observations
from benchmarks.common.session import Session
from benchmarks.common.startup import MAX_DURATION
from tests.support.fake_time import Time


def begun(monkeypatch: pytest.MonkeyPatch) -> tuple[Time, Session]:
    """A session of 120 s that began 20 s ago."""
    clock = Time()
    monkeypatch.setattr(observations, "clock_of", lambda device: clock)
    monkeypatch.setattr(session, "launch_age", lambda: clock.ns / 1e9 + 20)
    monkeypatch.setenv(MAX_DURATION, "120")
    run = Session(Group.alone("cpu"), Emitter(lambda _: None))
    return clock, run


@pytest.mark.parametrize(
    ("call_ms", "seconds", "part", "count"),
    [
        (1, None, (0, 1), 5),
        (1, 2, (0, 1), 500),  # of four calls
        (1, 2, (9, 10), 50),  # of 0.2 s
        (100, 2, (0, 10), 5),  # no fewer than asked for
        (500, 2, (0, 1), 5),  # half of the 97 s that are left are for 24
        (500, 2, (0, 10), 2),  # a tenth of it
        (9_000, 2, (0, 1), 1),  # in no time
    ],
)
def test_as_many_as_take_the_seconds_and_end_in_time(monkeypatch, call_ms, seconds, part, count):
    clock, run = begun(monkeypatch)
    ms = timed_observations(run, lambda: clock.sleep(call_ms), 4, 5, 6, seconds, part)
    assert list(ms) == [6 * call_ms] + [4 * call_ms] * count


def test_the_last_of_slow_parts_has_no_more_time_than_the_first(monkeypatch):
    """Each message takes half a second: 3.5 s for those before, 2 s for an observation."""
    clock, run = begun(monkeypatch)
    counts = [
        len(timed_observations(run, lambda: clock.sleep(500), 4, 5, 6, part=(done, 10))) - 1
        for done in range(10)
    ]
    assert counts == [2] * 5 + [1] * 5
