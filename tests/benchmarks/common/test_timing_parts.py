"""The parts of a step: each takes what lies between its marks, and all of them the whole step."""

from itertools import count, repeat

import pytest

from tests.support.fake_time import Device, Time, timer_of

PARTS = ("forward", "backward", "optimizer")


def test_the_parts_of_a_step_and_the_wait_are_the_step():
    time = Time()

    def loader():
        for batch in count():
            time.sleep(5)
            yield batch

    timer = timer_of(time, [], parts=PARTS)
    for step in timer.steps(loader(), 20, warmup=2):
        time.sleep(30 if step > 1 else 4000)  # the first steps compile
        timer.lap()
        time.sleep(50)
        timer.lap()
        time.sleep(15)
    assert {name: set(ms) for name, ms in timer.part_ms.items()} == {
        "forward": {30.0}, "backward": {50.0}, "optimizer": {15.0},
    }  # fmt: skip
    assert set(timer.wait_ms) == {5.0}
    assert list(timer.ms) == [100.0] * 20
    assert list(timer.warmup_ms) == [4070.0, 4070.0]


def test_the_parts_of_short_steps_too():
    time = Time()
    timer = timer_of(time, [], parts=PARTS)
    for step in timer.steps(count(), 120, warmup=1):
        time.sleep(step)
        timer.lap()
        time.sleep(1)
        timer.lap()
        time.sleep(2)
    assert list(timer.part_ms["forward"]) == [float(step) for step in range(1, 121)]
    assert list(timer.part_ms["optimizer"]) == [2.0] * 120


def test_the_parts_of_a_device_are_its_own_time():
    device = Device()
    timer = timer_of(device, [], interval=0, parts=PARTS)
    for _ in timer.steps(repeat(None), 30, warmup=3):
        device.work(40)
        timer.lap()
        device.work(80)
        timer.lap()
        device.work(20)
        device.sleep(1)
    assert {name: set(ms) for name, ms in timer.part_ms.items()} == {
        "forward": {40.0}, "backward": {80.0}, "optimizer": {20.0},
    }  # fmt: skip


@pytest.mark.parametrize("laps", [0, 1, 2])
def test_a_step_that_failed_after_a_part_is_none(laps):
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=1, parts=PARTS)
    for step in timer.steps(count(), 10, warmup=1):
        time.sleep(10)
        for _ in range(laps if step == 4 else 2):
            timer.lap()
        if step == 4:
            break
    timer.flush()
    assert list(timer.ms) == [10.0] * 3
    assert list(timer.part_ms["forward"]) == [10.0] * 3
