"""A timer beside a device that runs behind the host: what it measures, and never waits for."""

from itertools import count, repeat

import pytest

from benchmarks.common.timing import RUN_AHEAD
from tests.support.fake_time import MS, Device, Time, rates, timer_of


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


# Of a step: kernels in each of three parts, and what each takes the host and the device, in ms.
@pytest.mark.parametrize(
    ("host", "device", "idle"),
    [
        (0.05, 0.5, 0.0),  # the host runs ahead
        (0.45, 0.5, 0.0),
        (0.5, 0.475, 0.05),
        (0.5, 0.25, 0.5),
        (1.61, 0.45, 0.7205),  # T5-large under FSDP: 161 ms of host for 45 of device
    ],
)
@pytest.mark.parametrize("last", [0, 20])  # a long kernel ends the step, and hides the gaps there
def test_the_device_waits_for_the_host(host, device, idle, last):
    clock, sent = Device(), []
    timer = timer_of(clock, sent, parts=("forward", "backward", "optimizer"))
    for _ in timer.steps(repeat(None), 40, warmup=5):
        for part in range(3):
            for _ in range(30):
                clock.sleep(host)
                clock.work(device)
            if part < 2:
                timer.lap()
        clock.work(last)
    step = sum(timer.ms) / 40
    alone = 90 * device + last
    assert timer.device_idle() == pytest.approx(1 - alone / step, abs=0.01)
    if not last:
        assert timer.device_idle() == pytest.approx(idle, abs=0.02)
    assert len(timer.ms) == 40
    assert sum(p["steps"] for p in rates(sent, warmup=True)) == 4  # the held step is in no rate
    assert max(timer.warmup_ms) < 2 * step


def test_the_device_waits_for_data():
    clock = Device()

    def loader():
        while True:
            clock.sleep(25)
            yield None

    timer = timer_of(clock, [])
    for _ in timer.steps(loader(), 20, warmup=4):
        clock.sleep(1)
        clock.work(20)
    assert timer.device_idle() == pytest.approx(1 - 20 / 26, abs=0.01)


@pytest.mark.parametrize(("clock", "warmup"), [(Device, 3), (Time, 9)])
def test_whether_the_device_waits_is_not_known(clock, warmup):
    timer = timer_of(clock(), [])
    for _ in timer.steps(repeat(None), 5, warmup):
        pass
    assert timer.device_idle() is None
