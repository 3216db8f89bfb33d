import gc
import json
import os
import threading
import time
from itertools import repeat
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from benchmarks.common import session as session_module
from benchmarks.common.group import SETUP_TIMEOUT, STEP_TIMEOUT, Group
from benchmarks.common.metrics import Emitter
from benchmarks.common.session import session, start_barrier
from benchmarks.common.startup import MAX_DURATION
from tests.support.fake_time import Device, Time
from tests.support.programs import measured, torchrun


def train(run, count):
    return run.steps(repeat(None), work=3, units="items", count=count, warmup=1, interval=0)


@pytest.mark.parametrize("distributed", [False, True])
def test_what_a_program_tells(wire, distributed):
    with session("cpu", distributed=distributed) as run:
        assert dist.is_initialized() == distributed
        for _ in train(run, 3):
            run.log_loss(torch.tensor(2.0))
    assert not dist.is_initialized()
    payloads = wire.close()
    assert payloads[0]["device"]["torch"] == torch.__version__
    assert [p["step"] for p in payloads if "rate" in p] == [0, 1, 2, 3]
    assert [p["loss"] for p in payloads if "loss" in p] == [2.0] * 4
    times = payloads[-1]["step_times"]
    assert (times["rank"], times["from"], len(times["ms"])) == (0, 1, 3)
    for rate, ms in zip([p["rate"] for p in payloads if "rate" in p][1:], times["ms"], strict=True):
        assert rate == pytest.approx(3000 / ms, rel=0.2)  # ms are rounded to 0.1 us


def test_the_slowest_rank_says_how_many_steps_take_so_long(wire, monkeypatch):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    another = [50.0, float("-inf")]  # another rank's step, and how long it is beyond its deadline
    monkeypatch.setattr(Group, "largest", lambda _, value: max(value, another[value < 0]))
    with session("cpu") as run:
        endless = repeat(None)
        for _ in run.steps(endless, work=1, units="items", count=3, warmup=1, seconds=2):
            clock.sleep(10)
    payloads = wire.close()
    assert [p["loop"]["steps"] for p in payloads if "loop" in p] == [40]
    assert sum(p["steps"] for p in payloads if p.get("warmup")) == 6


@pytest.mark.parametrize(("clock", "step"), [(Time(), "sleep"), (Device(), "work")])
def test_the_slow_first_two_steps_do_not_make_the_loop_shorter(wire, monkeypatch, clock, step):
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    first = iter([5000, 1000])  # compiles and allocates; allocates again, or records CUDA graphs
    with session("cpu") as run:
        endless = repeat(None)
        for _ in run.steps(endless, work=1, units="items", count=3, warmup=1, seconds=2):
            getattr(clock, step)(next(first, 10))
    assert [p["loop"]["steps"] for p in wire.close() if "loop" in p] == [200]


@pytest.mark.parametrize(("seconds", "least"), [(None, 7), (0.01, 7)])
def test_no_fewer_steps_than_asked_for(wire, monkeypatch, seconds, least):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    with session("cpu") as run:
        endless = repeat(None)
        for _ in run.steps(endless, work=1, units="x", count=7, warmup=1, seconds=seconds):
            clock.sleep(10)
    assert [p["loop"]["steps"] for p in wire.close() if "loop" in p] == [least]


def test_the_peak_of_the_first_step_is_told_apart(wire, monkeypatch):
    """cuDNN's trials take 9000 MiB in the first step, training takes 700."""
    peak = [0.0, 0.0]

    def reset(device):
        peak[:] = [100.0, 200.0]

    monkeypatch.setattr(session_module, "peak_memory", lambda device: list(peak))
    monkeypatch.setattr(session_module, "reset_peak_memory", reset)
    with session("cpu") as run:
        for step, _ in enumerate(run.steps(repeat(None), work=1, units="x", count=3, warmup=3)):
            used = 9000.0 if step == 0 else 700.0
            peak[:] = [max(each, used) for each in peak]
    payloads = wire.close()
    assert [p["memory_peak"] for p in payloads if "memory_peak" in p] == [[700.0, 700.0]]
    assert [p["memory_first_step"] for p in payloads if "memory_first_step" in p] == [[9000.0] * 2]


def test_collectives_may_take_long_until_the_last_step_of_the_warm_up(monkeypatch):
    seen = []
    monkeypatch.setattr(Group, "limit", lambda group, variable: seen.append(variable))
    with session("cpu") as run:
        for step, _ in enumerate(run.steps(repeat(None), work=1, units="x", count=2, warmup=3)):
            seen.append(step)
    assert seen == [SETUP_TIMEOUT, 0, 1, STEP_TIMEOUT, 2, 3, 4]


@pytest.mark.parametrize(
    ("age", "max_duration", "steps"),
    [
        (60.0, 600, 10),  # of 10 ms: 2 % are 120 steps
        (3.0, 600, 6),  # 2 % are 60 ms
        (1.0, 600, 4),  # of which 4 % are 40 ms
        (0.3, 600, 0),  # 40 ms are more than a tenth
        (60.0, 60.1, 0),  # and more than a quarter of what is left
        (60.0, None, 10),
    ],
)
def test_how_many_steps_may_follow(monkeypatch, age, max_duration, steps):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    monkeypatch.setattr(session_module, "launch_age", lambda: age)
    monkeypatch.delenv(MAX_DURATION, raising=False)
    if max_duration:
        monkeypatch.setenv(MAX_DURATION, str(max_duration))
    with session("cpu") as run:
        for _ in train(run, 3):
            clock.sleep(10)
        assert run.spare_steps(0.02, 4, 10) == steps


@pytest.mark.parametrize(
    ("age", "few", "steps"), [(0.0, True, 0), (60.0, True, 60), (60.0, False, 0)]
)
def test_few_steps_tell_what_their_marks_cost_if_more_take_little_time(
    monkeypatch, wire, age, few, steps
):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    monkeypatch.setattr(session_module, "launch_age", lambda: age)
    count = 0
    with session("cpu") as run:
        loop = {"work": 3, "units": "items", "count": 3, "warmup": 1, "parts": ("body", "host")}
        for _ in run.steps(repeat(None), **loop, few_tell_cost=few):
            clock.sleep(10)
            run.lap()
            count += 1
    assert count == 4 + steps
    told = [p["instrument_cost"] for p in wire.close() if "instrument_cost" in p]
    assert told == [0.0] * bool(steps)


def test_the_rank_that_has_least_time_says_how_many_steps_may_follow(monkeypatch):
    monkeypatch.setattr(Group, "largest", lambda group, value: max(value, -5.0))
    monkeypatch.setattr(session_module, "launch_age", lambda: 1e6)
    with session("cpu") as run:
        for _ in train(run, 3):
            pass
        assert run.spare_steps(0.02, 4, 10) == 5


def test_collections_in_the_steps_are_told(wire):
    kept = []
    with session("cpu") as run:
        for step, _ in enumerate(train(run, 9)):
            kept += [[] for _ in range(20_000)]
            if step in (0, 4, 9):  # the first is of the warm-up
                gc.collect()
    (told,) = (p["garbage_collections"] for p in wire.close() if "garbage_collections" in p)
    assert told["ms"] > 0
    assert told["full_ms"] > 0 < told["frozen_ms"]


def test_a_crash_tells_what_was_measured_then_why(wire):
    def program():
        with session("cpu") as run:
            for step, _ in enumerate(train(run, 10)):
                if step == 4:
                    raise ValueError("planted")

    with pytest.raises(ValueError, match="planted"):
        program()
    payloads = wire.close()
    assert len(payloads[-2]["step_times"]["ms"]) == 3
    assert payloads[-1]["$event"] == "error"
    assert payloads[-1]["$data"]["message"] == "planted"


def test_a_crash_before_the_loop_tells_why(wire):
    with pytest.raises(ValueError, match="planted"), session("cpu"):
        raise ValueError("planted")
    device, error = wire.close()
    assert device["device"]["kind"] == "cpu"
    assert error["$data"]["type"] == "ValueError"


@pytest.mark.parametrize("distributed", [False, True])
def test_a_device_of_the_plan_that_is_not_there(wire, monkeypatch, capsys, distributed):
    monkeypatch.setenv("MILABENCH_DEVICE", "cuda")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(SystemExit) as exit_, session(None, distributed=distributed):
        pytest.fail("measured on the CPU")
    assert exit_.value.code == 2
    (error,) = wire.close()
    assert error["$data"]["type"] == "UnsupportedError"
    assert "cannot use cuda" in error["$data"]["message"]


@pytest.fixture
def gate(tmp_path, monkeypatch):
    path = tmp_path / "start"
    os.mkfifo(path)
    monkeypatch.setenv("MILABENCH_START", str(path))
    return path


class Program(threading.Thread):
    """A program that is about to wait; what it says is seen through a pipe."""

    def __init__(self):
        super().__init__(daemon=True)
        self.said, write = os.pipe()
        self._emitter = Emitter(lambda p: os.write(write, json.dumps(p).encode() + b"\n"))
        self.start()

    def run(self):
        start_barrier(self._emitter)

    def hear(self):
        return json.loads(os.read(self.said, 4096))


def test_opened_when_all_are_ready(gate):
    programs = [Program() for _ in range(3)]
    for program in programs:
        assert program.hear() == {"$event": "ready", "$data": {}}
    before = time.monotonic()
    os.close(os.open(gate, os.O_WRONLY))  # opened and closed at once: nobody may miss it
    for program in programs:
        begin = program.hear()
        assert begin["$event"] == "begin"
        assert before <= begin["$data"]["time"] <= time.monotonic()


def test_held_open_until_all_are_ready(gate):
    holder = os.open(gate, os.O_RDWR)
    program = Program()
    assert program.hear()["$event"] == "ready"
    writer = os.open(gate, os.O_WRONLY)
    os.write(writer, b"a byte that says nothing")
    os.close(holder)
    program.join(0.05)
    assert program.is_alive()
    os.close(writer)
    assert program.hear()["$event"] == "begin"


def test_nobody_to_wait_for():
    sent = []
    start_barrier(Emitter(sent.append))
    assert sent == []


@pytest.mark.slow
def test_a_rank_that_raises_has_a_name(wire):
    done = torchrun(Path(__file__).parents[1] / "crashing_ddp.py")
    assert done.returncode == 1
    assert "ValueError: planted in rank 1" in done.stderr
    payloads = wire.close()
    errors = [
        p["$data"] for p in payloads if p.get("$event") == "error" and p["$data"]["rank"] == 1
    ]
    assert [e["message"] for e in errors] == ["planted in rank 1"]
    assert 'raise ValueError("planted in rank 1")' in errors[0]["trace"]
    assert len(measured(payloads)) >= 4  # rank 0's, reported as they came


@pytest.mark.parametrize("seconds", [None, 0.001])
@pytest.mark.parametrize(
    ("step_ms", "age", "measured"),
    [
        (10, 20.0, 24),  # as at normal speed
        (2_000, 20.0, 24),  # 48 of the 100 s that are left
        (4_000, 20.0, 12),  # half of what is left
        (4_000, 95.0, 5),  # hardly any time
        (60_000, 20.0, 5),  # what is known of fewer is not worth the wait
    ],
)
def test_a_slow_machine_measures_fewer_steps_and_ends_in_time(
    wire, monkeypatch, seconds, step_ms, age, measured
):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    monkeypatch.setattr(session_module, "launch_age", lambda: age)
    monkeypatch.setenv(MAX_DURATION, "120")
    with session("cpu") as run:
        steps = run.steps(repeat(None), work=1, units="x", count=24, warmup=3, seconds=seconds)
        for _ in steps:
            clock.sleep(step_ms)
    assert [p["loop"]["steps"] for p in wire.close() if "loop" in p] == [measured]
    if step_ms < 60_000:
        assert age + measured * step_ms / 1e3 <= 120


def test_the_deadline_is_that_of_the_rank_that_began_first(wire, monkeypatch):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    monkeypatch.setattr(session_module, "launch_age", lambda: 20.0)
    monkeypatch.setattr(Group, "largest", lambda group, value: max(value, -40.0))  # 40 s are left
    monkeypatch.setenv(MAX_DURATION, "120")
    with session("cpu") as run:
        for _ in run.steps(repeat(None), work=1, units="x", count=24, warmup=3):
            clock.sleep(2_000)
    assert [p["loop"]["steps"] for p in wire.close() if "loop" in p] == [10]


def test_a_quota_that_stops_a_process_now_and_then_is_seen_in_the_warm_up(wire, monkeypatch):
    """Steps of 1 ms, in bursts of 20, after each of which the process is stopped for 80 ms."""
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    with session("cpu") as run:
        steps = run.steps(repeat(None), work=1, units="x", count=20, warmup=6, seconds=5)
        for step, _ in enumerate(steps):
            clock.sleep(1 if step % 20 else 81)
    (loop,) = [p["loop"] for p in wire.close() if "loop" in p]
    assert loop["steps"] * 0.005 == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize(
    ("step_ms", "warmup", "measured"),
    [
        (10, 100, 500),  # as at normal speed
        (1_000, 12, 44),  # an eighth of the 98 s after two steps; half of the 89 s after eleven
        (30_000, 3, 5),  # one tells how long a step takes
    ],
)
def test_a_long_warm_up_is_shorter_on_a_slow_machine(wire, monkeypatch, step_ms, warmup, measured):
    clock = Time()
    monkeypatch.setattr(session_module, "clock_of", lambda device: clock)
    monkeypatch.setattr(session_module, "launch_age", lambda: clock.ns / 1e9 + 20)
    monkeypatch.setenv(MAX_DURATION, "120")
    with session("cpu") as run:
        endless = repeat(None)
        for _ in run.steps(endless, work=1, units="x", count=60, warmup=100, seconds=5, interval=0):
            clock.sleep(step_ms)
    payloads = [p for p in wire.close() if "rate" in p]
    assert sum(p["steps"] for p in payloads if p.get("warmup")) == warmup
    assert sum(p["steps"] for p in payloads if not p.get("warmup")) == measured
