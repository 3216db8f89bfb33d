"""A timer beside a device that runs behind the host: what it measures, and never waits for."""

from itertools import count, repeat

import pytest

from benchmarks.common.timing import RUN_AHEAD
from tests.support.fake_time import MS, Device, rates, timer_of


def test_a_device_is_measured_by_its_own_time():
    device, sent = Device(), []
    timer = timer_of(device, sent, interval=0)
    for _ in timer.steps(repeat(None), 30, warmup=3):
        device.sleep(2)  # the host only queues
        device.work(50)
    assert list(timer.ms) == [50.0] * 30
    assert [p["rate"] for p in rates(sent)] == [640.0] * 30


def test_waiting_for_old_observations_never_drains_the_device():
    device, sent = Device(), []
    timer = timer_of(device, sent, interval=0)
    in_flight = []
    for _ in timer.steps(repeat(None), 30, warmup=0):
        device.work(50)
        in_flight.append(len(device.waits))
    during = device.waits[: in_flight[-1]]
    assert during  # the host did run ahead so far that it waited
    assert min(during) >= RUN_AHEAD * 50 * MS


def test_marks_are_used_again():
    device, sent = Device(), []
    timer = timer_of(device, sent, interval=0)
    for _ in timer.steps(repeat(None), 500, warmup=0):
        device.work(1)
    assert len(timer.ms) == 500
    assert device.made < 60


def test_flush_of_a_device_tells_what_it_has_done():
    device, sent = Device(), []
    timer = timer_of(device, sent, interval=0)
    for step in timer.steps(count(), 10, warmup=0):
        device.work(10)
        device.sleep(5)
        if step == 5:
            break
    waits = len(device.waits)
    timer.flush()
    assert len(device.waits) == waits
    assert list(timer.ms) == [10.0] * 3  # 5 were queued, 30 ms have passed


@pytest.mark.parametrize("call", ["mark", "happened"])
def test_flush_of_a_device_that_faulted_ends_quietly(call):
    device, sent = Device(), []
    timer = timer_of(device, sent, interval=0.05)
    for step in timer.steps(count(), 10, warmup=0):
        device.work(30)
        device.sleep(30)
        if step == 4:
            break

    def fault(*args):
        raise RuntimeError("an illegal memory access was encountered")

    setattr(device, call, fault)
    timer.flush()
    timer.flush()
    assert list(timer.ms) == [30.0] * 4
