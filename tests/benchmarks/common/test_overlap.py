"""Hidden and exposed communication of DDP, on a clock and a network that are moved by hand.

Each gradient takes the rank a millisecond, and the network sends one bucket after another.
"""

from itertools import repeat

import numpy as np
import pytest
import torch

from benchmarks.common import overlap, session, strategies
from benchmarks.common.metrics import encode
from benchmarks.common.overlap import bucket_ms
from benchmarks.common.session import Session
from benchmarks.common.strategies import data_parallel
from benchmarks.common.training import Task, timed_steps
from milabench_ddp.results.defects import DefectKind
from milabench_ddp.results.rank import Bucket
from milabench_ddp.results.read import read_events
from tests.support.ddp_network import Network
from tests.support.fake_time import Time
from tests.support.programs import program
from tests.support.strategies import batch, options, workload

train_step = program("gpt").train_step
OWN = 1.0  # ms of a gradient
SETTINGS = {"steps": 6, "warmup": 3, "seconds": None}


class Trained:
    """What a program told."""

    def __init__(self, payloads):
        self.payloads = payloads
        self.lines = [p for p in payloads if "buckets" in p]
        self.buckets = [bucket for line in self.lines for bucket in line["buckets"]]

    def part(self, name):
        (found,) = [p["part_ms"][name] for p in self.payloads if "part_ms" in p]
        return found[0]

    def sum(self, name):
        return sum(bucket[name] for bucket in self.buckets)


@pytest.fixture
def trained(wire, monkeypatch):
    """Trains under DDP in this process alone; ``own`` is what a gradient takes, by its pass."""

    def train(argv="", own=lambda synced: OWN, steps=10, warm=0.0, **network):
        clock = Time()
        sends = Network(clock, **network)
        monkeypatch.setattr(session, "clock_of", lambda _: clock)
        monkeypatch.setattr("benchmarks.common.training.clock_of", lambda _: clock)
        monkeypatch.setitem(data_parallel.HOOKS, "allreduce", sends.send)
        monkeypatch.setattr(Session, "spare_steps", lambda *_: steps)
        text = f"--mode ddp --bucket-cap-mb 0.03 --comm-hook allreduce {argv}"
        args = options(text, **SETTINGS)
        with session.session("cpu", distributed=True) as run:
            strategy = strategies.build(args, workload(args), run.group)
            model = strategy.model
            for parameter in model.module.parameters():
                work = lambda _: clock.sleep(own(model.require_backward_grad_sync))  # noqa: E731
                parameter.register_hook(work)
            model.register_forward_pre_hook(lambda *_: sends.wait())
            task, batches = Task("toy", 8, "tokens", None, 170), repeat(batch(0, 0))
            for number, each in enumerate(timed_steps(run, args, task, strategy, batches)):
                clock.sleep(warm if number < SETTINGS["warmup"] else 0.0)
                train_step(_Waiting(run, sends), strategy, each)
            before = [p.clone() for p in model.parameters()]
            overlap.measure(run, strategy, batches)
            unchanged = all(map(torch.equal, before, model.parameters()))
        assert unchanged
        return Trained(wire.close())

    return train


class _Waiting:
    """A session at whose laps the network is idle, as at the end of a backward pass."""

    def __init__(self, run, network):
        self._run, self._network = run, network
        self.log_loss = run.log_loss

    def lap(self):
        self._network.wait()
        self._run.lap()


@pytest.mark.parametrize("argv", ["", "--accumulate 2", "--find-unused-parameters"])
@pytest.mark.filterwarnings("ignore:.*find_unused_parameters")
def test_the_last_bucket_is_exposed_and_the_others_are_hidden(trained, argv):
    clean = trained(argv)
    assert len(clean.buckets) == 5
    assert clean.part("exposed_communication") == 2.0
    assert [bucket["hidden_ms"] for bucket in clean.buckets] == [2.0] * 4 + [0.0]
    assert clean.buckets[-1]["ready_ms"] == 41.0  # of so many parameters
    assert clean.lines[0]["overlap_slowdown"] == 1.0


@pytest.mark.parametrize("warm", [0.0, 5000.0])
def test_a_late_last_bucket_is_exposed(trained, warm):
    late = trained(last=3.5, warm=warm)
    assert late.part("exposed_communication") == 5.5
    assert late.sum("hidden_ms") == 8.0
    assert late.sum("ms") == 13.5


def test_a_late_first_bucket_is_hidden(trained):
    late = trained(first=3.0)
    assert late.part("exposed_communication") == 2.0
    assert late.part("backward") == 41.0
    assert late.sum("hidden_ms") == 11.0


def test_by_how_much_communication_slows_the_backward_pass(trained):
    slowed = trained(own=lambda synced: 1.2 if synced else 1.0)
    assert slowed.lines[0]["overlap_slowdown"] == pytest.approx(1.2)


def test_a_few_steps_tell_the_buckets_alone(trained):
    few = trained(steps=4)
    assert few.lines[0]["overlap_slowdown"] is None
    assert few.sum("ms") == 10.0


def test_it_is_told_if_there_is_no_time_for_more_steps(trained):
    without = trained(steps=0)
    assert without.lines == []
    (why,) = [p["buckets_unknown"] for p in without.payloads if "buckets_unknown" in p]
    assert why == "4 more steps would have made the run too long"


def test_an_all_reduce_takes_as_long_as_on_the_rank_that_comes_last():
    """Bucket 0 is ready at 10, 20 and 30 ms and takes 5; bucket 1 is reduced behind it, in 4."""
    ready = np.array([[[10.0, 12.0]], [[20.0, 32.0]], [[30.0, 33.0]]])
    ms, hidden = bucket_ms(ready, np.array([[[35.0, 39.0]]] * 3))
    assert ms.tolist() == [[5.0, 4.0]]
    assert hidden.tolist() == [[[0.0, 0.0]], [[2.0, 0.0]], [[3.0, 0.0]]]


def test_buckets_that_are_reduced_at_the_same_time_count_once():
    ready = np.array([[[10.0, 11.0, 30.0]]])
    ms, hidden = bucket_ms(ready, np.array([[[20.0, 15.0, 33.0]]]))
    assert ms.tolist() == [[10.0, 0.0, 3.0]]
    assert hidden.tolist() == [[[10.0, 0.0, 0.0]]]


def test_many_buckets_are_told_in_several_lines(tmp_path):
    many = [[round(1234.5678 + k, 4) for k in range(100)]] * 3
    found = overlap.Passes([26214400] * 100, many, many, 1.23456)
    (lines,) = overlap.told([found])
    assert [line["first_bucket"] for line in lines] == [0, 40, 80]
    assert [line.get("overlap_slowdown") for line in lines] == [1.2346, None, None]
    told = [{"task": "main", "rank": 0, **line} for line in lines]
    path = tmp_path / "b.0.data"
    path.write_bytes(b"".join(encode({"event": "data", "data": each}) + b"\n" for each in told))
    record = read_events(path)
    assert [defect.kind for defect in record.defects] == [DefectKind.NO_CONFIG]
    rank = record.ranks[0]
    assert len(rank.buckets) == 100
    assert rank.buckets[99] == Bucket(26214400, 1333.5678, 0.0, 0.0)
    assert rank.overlap_slowdown == 1.2346
