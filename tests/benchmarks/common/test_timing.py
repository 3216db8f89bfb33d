"""Timing under a fake clock: no test here sleeps, and every figure is exact."""

from itertools import count, repeat

import pytest
import torch
from common.metrics import Emitter
from common.timing import RUN_AHEAD, Losses, StepTimer

MS = 1_000_000  # nanoseconds


class Time:
    """The host's clock, moved by hand; as a Clock it is that of a CPU."""

    def __init__(self):
        self.ns = 0
        self.asked = 0

    def sleep(self, ms):
        self.ns += round(ms * MS)

    def now(self):
        return self.ns

    mark = now

    def happened(self, mark):
        return True

    def wait(self, mark):
        pass

    def milliseconds(self, start, end):
        return (end - start) / MS

    def fetch(self, value):
        return value.clone()

    def recycle(self, marks):
        pass


class Device(Time):
    """A device behind the host: its time passes by what is queued, seen when it has got there."""

    def __init__(self):
        super().__init__()
        self.queued = 0  # when the device will have done all that was queued
        self.waits = []
        self.free = []
        self.made = 0

    def work(self, ms):
        self.queued = max(self.queued, self.ns) + round(ms * MS)

    def mark(self):
        if self.free:
            mark = self.free.pop()
        else:
            mark, self.made = {}, self.made + 1
        mark["ns"] = max(self.queued, self.ns)
        return mark

    def happened(self, mark):
        return mark["ns"] <= self.ns

    def wait(self, mark):
        if not self.happened(mark):
            self.waits.append(self.queued - mark["ns"])  # what is left for the device to do
            self.ns = mark["ns"]

    def milliseconds(self, start, end):
        assert self.happened(end)
        return (end["ns"] - start["ns"]) / MS

    def recycle(self, marks):
        for mark in marks:
            assert not any(mark is other for other in self.free)
            self.free.append(mark)


def timer_of(clock, sent, **settings):
    emitter = Emitter(sent.append, settings.pop("rank", 0))
    return StepTimer(clock, emitter, now=clock.now, work=32, units="images", **settings)


def rates(sent, **fields):
    found = [p for p in sent if "rate" in p]
    return [p for p in found if bool(p.get("warmup")) == fields.get("warmup", False)]


def test_a_known_step_time_is_reported_exactly():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0)
    for _ in timer.steps(repeat(None), 20, warmup=5):
        time.sleep(80)
    assert list(timer.ms) == [80.0] * 20
    assert [p["rate"] for p in rates(sent)] == [400.0] * 20
    assert [p["step"] for p in rates(sent)] == list(range(5, 25))
    assert {p["units"] for p in rates(sent)} == {"images/s"}
    assert [p["elapsed"] for p in rates(sent)][:2] == [0.08, 0.16]


def test_warm_up_is_told_and_marked_and_in_no_figure():
    time, sent, slow = Time(), [], iter([5000, 900, 100])
    timer = timer_of(time, sent)
    for step in timer.steps(count(), 4, warmup=3):
        time.sleep(next(slow) if step < 3 else 100)
    assert [p["rate"] for p in rates(sent, warmup=True)] == pytest.approx([6.4, 35.555, 320], 1e-3)
    assert [p["rate"] for p in rates(sent)] == [320.0] * 4
    assert list(timer.ms) == [100.0] * 4
    assert timer.first == 3


def test_the_wait_for_data_is_part_of_the_step_and_known_apart():
    time, sent = Time(), []

    def loader():
        for batch in count():
            time.sleep(30)
            yield batch

    timer = timer_of(time, sent)
    for _ in timer.steps(loader(), 3, warmup=1):
        time.sleep(70)
    assert list(timer.ms) == [100.0] * 3
    assert list(timer.wait_ms) == [30.0] * 3
    assert [p["rate"] for p in rates(sent)] == [320.0] * 3


def test_telling_is_not_in_the_time():
    time = Time()
    sent = []

    def slow_channel(payload):
        time.sleep(25)
        sent.append(payload)

    timer = StepTimer(time, Emitter(slow_channel), now=time.now, work=1, units="steps", interval=0)
    for _ in timer.steps(repeat(None), 5, warmup=1):
        time.sleep(10)
        timer.watch(torch.tensor(1.5))
    assert list(timer.ms) == [10.0] * 5
    assert [p["rate"] for p in rates(sent)] == [100.0] * 5


def test_short_steps_share_an_observation():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0.05)
    for _ in timer.steps(repeat(None), 120, warmup=30):
        time.sleep(1)
    assert [p["steps"] for p in rates(sent, warmup=True)] == [29, 1]  # none with measured steps
    assert [p["steps"] for p in rates(sent)] == [50, 50, 20]
    assert [p["step"] for p in rates(sent)] == [79, 129, 149]
    assert {p["rate"] for p in rates(sent)} == {32_000.0}
    assert len(timer.ms) == 120


def test_a_loss_is_that_of_the_observations_last_step():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0.05)
    for step in timer.steps(count(), 4, warmup=1):
        time.sleep(25)
        timer.watch(torch.tensor(float(step)))
    losses = [p for p in sent if "loss" in p]
    assert [(p["loss"], p["step"], p.get("warmup", False)) for p in losses] == [
        (0.0, 0, True),
        (2.0, 2, False),
        (4.0, 4, False),
    ]


def test_batches_that_run_out_end_the_loop():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0)
    for _ in timer.steps(range(4), 10, warmup=1):
        time.sleep(10)
    assert list(timer.ms) == [10.0] * 3


def test_only_rank_0_tells_rates_but_every_rank_keeps_its_times():
    time, sent = Time(), []
    timer = timer_of(time, sent, rank=1)
    for _ in timer.steps(repeat(None), 3, warmup=1):
        time.sleep(60)
        timer.watch(torch.tensor(1.0))
    assert sent == []
    assert list(timer.ms) == [60.0] * 3


def test_begin_comes_before_the_last_step_of_the_warm_up_and_is_in_no_figure():
    time, sent = Time(), []

    def begin():
        sent.append("begin")
        time.sleep(1000)

    timer = timer_of(time, sent, begin=begin)
    for _ in timer.steps(repeat(None), 2, warmup=2):
        time.sleep(60)
    kinds = [p if isinstance(p, str) else p.get("warmup", False) for p in sent]
    assert kinds == [True, "begin", True, False, False]
    assert list(timer.ms) == [60.0, 60.0]
    assert sent[-1]["elapsed"] == 0.12


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


def test_flush_tells_what_ended_and_waits_for_nothing():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=1)
    for step in timer.steps(count(), 10, warmup=1):
        time.sleep(10)
        if step == 4:
            break  # as an exception would
    timer.flush()
    assert list(timer.ms) == [10.0] * 3  # the step that failed is none
    assert [p["steps"] for p in rates(sent)] == [3]


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


@pytest.mark.parametrize(
    ("losses", "rank", "told"),
    [
        (None, 0, [1.0, "nan"]),
        (None, 1, []),
        (Losses.KNOWN, 1, [1.0]),
        (Losses.NONE, 0, []),
    ],
)
def test_who_tells_the_losses(losses, rank, told):
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0, rank=rank, losses=losses)
    for step in timer.steps(count(), 2, warmup=0):
        time.sleep(1)
        timer.watch(torch.tensor(1.0 if step == 0 else float("nan")))
    found = [p for p in sent if "loss" in p]
    assert [p["loss"] if p["loss"] == 1 else str(p["loss"]) for p in found] == told
    assert {p["rank"] for p in found} <= {rank}
