"""What the marks cost, planted on a clock that is moved by hand: a mark takes some of that time."""

import random
from functools import partial
from itertools import repeat
from types import SimpleNamespace

import pytest

from benchmarks.common import timing
from benchmarks.common.instrument_cost import blocks, cost
from benchmarks.common.marks import Waits
from tests.support.fake_time import Device, Time, rates, timer_of

STEP = 10.0  # ms
PARTS = ("forward", "backward", "optimizer")
MARKS = 5  # of a step: the ends of the wait for data and of the parts, and a wait


class Costly(Time):
    """A clock whose marks take time."""

    def __init__(self, ms):
        super().__init__()
        self.ms, self.marked = ms, 0

    def mark(self):
        self.marked += 1
        self.sleep(self.ms)
        return self.ns


@pytest.fixture(autouse=True)
def _as_many_steps_behind_the_loop_as_in_it(monkeypatch):
    monkeypatch.setattr(timing, "STEPS_FOR_ONE", 1)


def trained(share=0.0, noise=0.0, pauses=0.0, steps=70, parts=PARTS):
    """The timer of a loop in which the marks cost a share of a step, and what it sent."""
    clock, sent, chance = Costly(share * STEP / MARKS), [], random.Random(3)
    waits = Waits(clock) if len(parts) > 1 else None
    timer = timer_of(clock, sent, parts=parts, waits=waits, interval=1.0)
    for _ in timer.steps(repeat(None), steps, 10):
        clock.sleep(STEP * (1 + noise * chance.gauss(0, 1)))
        if chance.random() < pauses:
            clock.sleep(100)
        for _ in parts[1:]:
            timer.lap()
        if waits is not None:
            waits.begin_anew()
    return timer, sent


@pytest.mark.parametrize("share", [0.0, 0.002, 0.03])
@pytest.mark.parametrize(("noise", "pauses"), [(0.0, 0.0), (0.005, 0.0), (0.005, 0.02)])
def test_a_planted_cost(share, noise, pauses):
    found = trained(share, noise, pauses)[0].instrument_cost
    assert found.share == pytest.approx(share, abs=0.005 if noise else 5e-4)
    assert abs(found.share - share) <= found.error + 5e-4
    assert found.error < 0.005


def test_its_steps_are_in_no_rate():
    timer, sent = trained(0.03)
    assert len(timer.ms) == len(timer.part_ms["forward"]) == 70
    assert sum(p["steps"] for p in rates(sent)) == 70
    assert timer.ms[-1] == pytest.approx(STEP * 1.03)


@pytest.mark.parametrize("settings", [{"steps": 5}, {"parts": ("body",)}], ids=str)
def test_it_is_not_known(settings):
    assert trained(0.03, **settings)[0].instrument_cost is None
    assert trained(0.03, steps=6)[0].instrument_cost.share == pytest.approx(0.03, abs=5e-4)


@pytest.mark.parametrize("left", [0, 8, 19])
def test_batches_may_run_out(left):
    clock = Time()
    timer = timer_of(clock, [], parts=PARTS, waits=Waits(clock), interval=1.0)
    for _ in timer.steps(range(20 + left), 10, 10):
        clock.sleep(STEP)
        timer.lap()
        timer.lap()
    assert len(timer.ms) == 10
    assert timer.instrument_cost is None


def test_a_hundredth_of_the_steps_is_spent_on_it(monkeypatch):
    monkeypatch.undo()
    clock = Time()
    timer = timer_of(clock, [], parts=PARTS)
    count = 0
    for _ in timer.steps(repeat(None), 1590, 10):
        timer.lap()
        timer.lap()
        count += 1
    assert count == 1600 + 16


def test_hooks_are_off_where_nothing_is_marked():
    clock, calls = Time(), []
    waits = Waits(clock)
    put_on, take_off = partial(calls.append, "on"), partial(calls.append, "off")
    waits.hooks.append(SimpleNamespace(put_on=put_on, take_off=take_off))
    timer = timer_of(clock, [], parts=PARTS, waits=waits)
    for _ in timer.steps(repeat(None), 7, 10):
        clock.sleep(1)
        timer.lap()
        timer.lap()
        waits.begin_anew()
    assert calls == ["off", "on"] * 4  # with, without; without, with
    clock.sleep(1)
    waits.begin_anew()
    assert waits.last() == clock.ns


def test_events_are_used_again():
    clock = Device()
    waits = Waits(clock)
    timer = timer_of(clock, [], parts=PARTS, waits=waits)
    for _ in timer.steps(repeat(None), 7, 10):
        clock.work(1)
        timer.lap()
        waits.begin()
        timer.lap()
        waits.end()
    assert timer.instrument_cost == (0.0, 0.0)


def test_blocks_of_steps():
    assert blocks(15) == (1, [])
    assert blocks(17) == (1, [True, False, False, True] * 4)
    assert blocks(300) == (4, ([True, False, False, True] * 19)[:74])


def test_a_drift_cancels_out():
    length, marked = blocks(80)
    ms = [100.0 + place + 3.0 * has_marks for place, has_marks in enumerate(marked)]
    assert length == 1
    assert cost(marked, ms).share == pytest.approx(3 / 140, abs=0.002)
    assert cost([], []) is None
