"""What a timer tells of the steps of a loop, under a fake clock."""

from contextlib import contextmanager
from itertools import count, repeat

import pytest
import torch

from benchmarks.common.metrics import Emitter
from benchmarks.common.timing import Losses, StepTimer
from tests.support.fake_time import Device, Time, rates, timer_of


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
        timer.log_loss(torch.tensor(1.5))
    assert list(timer.ms) == [10.0] * 5
    assert [p["rate"] for p in rates(sent)] == [100.0] * 5


def test_short_steps_share_an_observation():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0.05)
    for _ in timer.steps(repeat(None), 120, warmup=30):
        time.sleep(1)
    # the first step is apart, and none is with measured steps
    assert [p["steps"] for p in rates(sent, warmup=True)] == [1, 28, 1]
    assert [p["steps"] for p in rates(sent)] == [50, 50, 20]
    assert [p["step"] for p in rates(sent)] == [79, 129, 149]
    assert {p["rate"] for p in rates(sent)} == {32_000.0}
    assert len(timer.ms) == 120


def test_a_loss_is_that_of_the_observations_last_step():
    time, sent = Time(), []
    timer = timer_of(time, sent, interval=0.05)
    for step in timer.steps(count(), 4, warmup=1):
        time.sleep(25)
        timer.log_loss(torch.tensor(float(step)))
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
        timer.log_loss(torch.tensor(1.0))
    assert sent == []
    assert list(timer.ms) == [60.0] * 3


def test_what_is_around_begins_before_the_last_step_of_the_warm_up_and_is_in_no_figure():
    time, sent = Time(), []

    @contextmanager
    def around():
        sent.append("begin")
        time.sleep(1000)
        yield
        sent.append("end")

    timer = timer_of(time, sent, around=around)
    for _ in timer.steps(repeat(None), 2, warmup=2):
        time.sleep(60)
    kinds = [p if isinstance(p, str) else p.get("warmup", False) for p in sent]
    assert kinds == [True, "begin", True, False, False, "end"]
    assert list(timer.ms) == [60.0, 60.0]
    assert sent[-2]["elapsed"] == 0.12


def test_what_is_around_ends_if_the_body_raises():
    time, seen = Time(), []

    @contextmanager
    def around():
        try:
            yield
        finally:
            seen.append("end")

    def loop():
        for _ in timer_of(time, [], around=around).steps(repeat(None), 5, warmup=0):
            raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        loop()
    assert seen == ["end"]


@pytest.mark.parametrize(("warmup", "calls"), [(0, []), (1, []), (2, [1]), (5, [1])])
def test_settled_after_the_first_of_several_steps_of_warm_up(warmup, calls):
    time, seen, done = Time(), [], []
    timer = timer_of(time, [], settled=lambda: seen.append(len(done)))
    for step in timer.steps(count(), 3, warmup):
        time.sleep(10)
        done.append(step)
    assert seen == calls
    assert len(timer.ms) == 3


@pytest.mark.parametrize("clock", [Time, Device])
def test_a_count_by_the_time_of_a_step(clock):
    """The first step compiles, the second still allocates; the last comes after the question."""
    time, asked = clock(), []
    spent = iter([60_000, 300, 100, 100, 100, 100, 700])

    def one_second(ms):
        asked.append(ms)
        return round(1000 / ms)

    timer = timer_of(time, [])
    for _ in timer.steps(repeat(None), one_second, warmup=7):
        work = getattr(time, "work", time.sleep)
        work(next(spent, 100))
    assert asked == [100.0]
    assert list(timer.ms) == [100.0] * 10


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
        timer.log_loss(torch.tensor(1.0 if step == 0 else float("nan")))
    found = [p for p in sent if "loss" in p]
    assert [p["loss"] if p["loss"] == 1 else str(p["loss"]) for p in found] == told
    assert {p["rank"] for p in found} <= {rank}
