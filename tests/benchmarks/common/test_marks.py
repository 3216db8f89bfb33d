"""Waits within the parts of a step are a part of their own; the sum of all parts is the step."""

from itertools import count, repeat

import pytest

from benchmarks.common.marks import EXPOSED, Waits
from tests.support.fake_time import CountedWaits, Device, Time, timer_of

PARTS = ("forward", "backward", "optimizer")


def parts_of(timer):
    found = {name: set(ms) for name, ms in timer.part_ms.items()}
    assert [sum(ms) for ms in zip(timer.wait_ms, *timer.part_ms.values(), strict=True)] == list(
        timer.ms
    )
    return found


def bucketed(time, waits, *, buckets=3, bucket=20, tail=30):
    """A backward pass whose buckets are ready one after another; then it waits."""
    for _ in range(buckets):
        time.sleep(bucket)
        waits.begin_anew()
    time.sleep(tail)


def test_a_wait_lasts_from_its_last_beginning_to_the_end_of_the_part():
    time = Time()
    waits = Waits(time)
    timer = timer_of(time, [], parts=PARTS, waits=waits)
    for step in timer.steps(count(), 20, warmup=3):
        time.sleep(40)
        timer.lap()
        bucketed(time, waits, tail=5000 if step < 3 else 30)  # slow steps of warm-up
        timer.lap()
        time.sleep(10)
    assert parts_of(timer) == {
        "forward": {40.0}, "backward": {60.0}, EXPOSED: {30.0}, "optimizer": {10.0},
    }  # fmt: skip
    assert list(timer.part_ms) == ["forward", "backward", "optimizer", EXPOSED]
    assert timer.step_fractions() == {
        "forward": 0.285714, "backward": 0.428571, EXPOSED: 0.214286, "optimizer": 0.071429,
        "data": 0.0,
    }  # fmt: skip


def test_an_end_without_a_beginning_makes_no_mark():
    waits = CountedWaits(Device())
    waits.end()
    waits.begin()
    waits.end()
    waits.end()
    assert waits.made == 2


def test_several_waits_that_end_within_their_parts():
    time = Time()
    waits = Waits(time)
    timer = timer_of(time, [], parts=PARTS, waits=waits)
    for _ in timer.steps(repeat(None), 150, warmup=1):  # many steps in an observation
        for _ in range(4):  # a gather before each block
            waits.begin()
            time.sleep(0.01)
            waits.begin()  # it waits already
            time.sleep(0.01)
            waits.end()
            waits.end()
            time.sleep(0.1)
        # On a CPU only what has not ended is kept as a mark: here at the end of a step.
        assert len(timer._open.waits) == timer._open.steps
        timer.lap()
        time.sleep(0.5)
        waits.begin()
        time.sleep(0.25)
        waits.end()
        waits.begin()
        time.sleep(0.25)
        timer.lap()
        time.sleep(0.125)
    whole = {name: pytest.approx([sum(ms) / 150]) for name, ms in timer.part_ms.items()}
    assert whole == {"forward": [0.4], "backward": [0.5], EXPOSED: [0.58], "optimizer": [0.125]}


def test_without_a_mark_nothing_is_a_wait():
    time = Time()
    timer = timer_of(time, [], parts=PARTS, waits=Waits(time))
    for step in timer.steps(count(), 4, warmup=1):
        time.sleep(10)
        timer.lap()
        if step % 2:
            bucketed(time, timer._waits)
        timer.lap()
    assert list(timer.part_ms["backward"]) == [60.0, 0.0, 60.0, 0.0]
    assert list(timer.part_ms[EXPOSED]) == [30.0, 0.0, 30.0, 0.0]


def test_waits_of_a_device_are_its_own_time_and_their_marks_are_used_again():
    device = Device()
    waits = Waits(device)
    timer = timer_of(device, [], parts=PARTS, waits=waits, interval=0)
    for _ in timer.steps(repeat(None), 300, warmup=5):
        device.work(2)
        timer.lap()
        for _ in range(10):
            device.work(1)
            waits.begin_anew()
        device.work(3)  # the device waits for the all-reduces
        timer.lap()
        device.work(1)
        device.sleep(0.5)  # the host runs ahead
    assert parts_of(timer) == {
        "forward": {2.0}, "backward": {10.0}, EXPOSED: {3.0}, "optimizer": {1.0},
    }  # fmt: skip
    assert timer.device_idle() == 0.0  # waits do not hold the device in the step that is held
    assert device.made < 400  # of 3300 waits that began


@pytest.mark.parametrize("begun", [False, True])
def test_the_waits_of_a_step_that_failed_are_none(begun):
    time = Time()
    waits = Waits(time)
    timer = timer_of(time, [], parts=PARTS, waits=waits, interval=1)
    for step in timer.steps(count(), 10, warmup=1):
        time.sleep(10)
        timer.lap()
        if step == 4:
            if begun:
                waits.begin()
            break
        bucketed(time, waits)
        timer.lap()
    timer.flush()
    assert parts_of(timer) == {
        "forward": {10.0}, "backward": {60.0}, EXPOSED: {30.0}, "optimizer": {0.0},
    }  # fmt: skip
    assert len(timer.ms) == 3


def test_marks_outside_of_the_loop_are_in_no_step():
    time = Time()
    waits = Waits(time)
    timer = timer_of(time, [], parts=PARTS, waits=waits)
    bucketed(time, waits)
    for _ in timer.steps(repeat(None), 2, warmup=0):
        timer.lap()
        bucketed(time, waits)
        timer.lap()
    bucketed(time, waits)
    timer.flush()
    assert list(timer.part_ms[EXPOSED]) == [30.0, 30.0]
