"""The loop of the training programs: what it tells, and that its timing is true."""

import gc
import json
import math
import sys
import time
import weakref
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.common import cli, session, strategies, training
from benchmarks.common.correctness import Verdict
from benchmarks.common.data import Placement, Source, Tokens, loader_of, split_batch
from benchmarks.common.training import Task, WrongGradientsError
from benchmarks.common.workload import Workload
from tests.support.fake_time import Time
from tests.support.programs import measured, program
from tests.support.scripted_strategies import Phased

train_step = program("gpt").train_step
TASK = Task("toy", items=8, units="tokens", flops=1e9, parameters=170)


def parsed(*argv):
    parser = cli.parser("")
    training.add_options(parser, steps=20, warmup=2, batch_size=2)
    strategies.add_options(parser, ("single",), "single")
    return parser.parse_args(["--device", "cpu", "--num-workers", "0", *argv])


class Toy(nn.Module):
    """Scores words by their embedding."""

    def __init__(self):
        super().__init__()
        self.embedding, self.out = nn.Embedding(10, 8), nn.Linear(8, 10)

    def forward(self, words):
        return self.out(self.embedding(words))


def loss(model, batch):
    words, targets = batch
    return nn.functional.cross_entropy(model(words).flatten(0, 1), targets.flatten())


def train(args, compute=loss, samples=Tokens(100, 4, 10, 0)):  # noqa: B008
    """The loop of a program, around a toy."""
    work = Workload(make_model=Toy, loss=compute, blocks=lambda model: [], split=split_batch)
    with session.session("cpu") as run:
        place = Placement(run.device)
        source = Source(samples, args.batch_size, place, 1, loader_of(args))
        training.check_correctness(run, args, work, source)
        strategy = strategies.build(args, work, run.group)
        batches = source.stream(strategy.data_parallel_rank, strategy.data_parallel_size)
        for batch in training.timed_steps(run, args, TASK, strategy, batches):
            train_step(run, strategy, batch)
        training.report(run, args, TASK, strategy)
        training.profile(run, args, TASK, strategy, batches)


def only(payloads, key):
    (found,) = [p for p in payloads if key in p]
    return found[key]


def test_what_is_told(wire):
    train(parsed("--check-correctness"))
    payloads = wire.close()
    assert only(payloads, "correctness")["ok"] is True
    assert {p["units"] for p in payloads if "rate" in p} == {"tokens/s"}
    shares = only(payloads, "shares")
    assert set(shares) == {"forward", "backward", "optimizer", "host", "data"}
    assert sum(shares.values()) == pytest.approx(1, abs=0.02)
    assert all(math.isfinite(p["loss"]) for p in payloads if "loss" in p)
    model = only(payloads, "model")
    assert model["parameters"] == model["parameters_held"] == 170
    assert (model["flops_per_step"], model["flops_source"]) == (1e9, "formula")
    ms = only(payloads, "step_times")["ms"]
    assert len(ms) == 20
    assert model["tflops_per_gpu"] == pytest.approx(1e9 / (sum(ms) / 20e3) / 1e12, rel=1e-3)


def test_the_time_of_a_step_is_that_which_passed(wire, monkeypatch):
    """How long forward really took is known from readings around and within it.

    How much less than a percent it differs by is measured in ``perf/timing_cost.py``.
    """
    began, ended = [], []

    class Sleeping(Phased):
        def forward(self, batch):
            began.append(time.perf_counter())
            time.sleep(0.02)
            ended.append(time.perf_counter())
            return torch.tensor(1.0)

    monkeypatch.setattr(strategies, "build", lambda *args: Sleeping(Time()))
    train(parsed("--steps", "10"))
    payloads = wire.close()
    ms = only(payloads, "step_times")["ms"]
    assert len(ms) == 10
    within = [1e3 * (end - begin) for begin, end in zip(began, ended, strict=True)]
    rounding = 0.5e-4  # ms are told to 0.1 us
    assert all(told + rounding >= slept for told, slept in zip(ms, within[2:], strict=True))
    # from before the last of the 2 steps of warm-up has ended until after the last step began
    assert sum(ms[:-1]) <= 1e3 * (began[-1] - ended[1]) + 10 * rounding
    seconds = [4 * 8 * p["steps"] / p["rate"] for p in measured(payloads)]
    assert sum(seconds) == pytest.approx(sum(ms) / 1e3, abs=10 * rounding / 1e3)


def test_a_wrong_strategy_is_told_and_measured_and_fails(wire, monkeypatch):
    wrong = {"gradient_error": 1.34, "scale_error": 1.0, "loss_error": 0.2, "replicas_equal": True}
    verdict = Verdict(**wrong, tolerance=1e-10, scale_tolerance=1e-10, precision="fp64", steps=3)
    monkeypatch.setattr(training.correctness, "check", lambda *args: verdict)
    with pytest.raises(
        WrongGradientsError, match=r"in fp64 gradients differ by 1\.3 .*losses by 0\.2"
    ):
        train(parsed("--check-correctness"))
    payloads = wire.close()
    assert only(payloads, "correctness")["ok"] is False
    assert measured(payloads)
    assert payloads[-1]["$data"]["type"] == "WrongGradientsError"


def test_the_models_of_the_check_are_gone_before_the_strategy_is_built(wire, monkeypatch):
    made, alive = [], []

    class Cyclic(Toy):
        def __init__(self):
            super().__init__()
            self.itself = [self]
            made.append(weakref.ref(self))

    def build(*args):
        alive.append(sum(model() is not None for model in made))
        return right(*args)

    right = strategies.build
    monkeypatch.setattr(strategies, "build", build)
    monkeypatch.setattr(sys.modules[__name__], "Toy", Cyclic)
    gc.disable()
    try:
        train(parsed("--check-correctness"))
    finally:
        gc.enable()
    assert len(made) > 4
    assert alive[-1] == 0


def test_a_trace_is_written_after_the_measured_steps(wire, monkeypatch, tmp_path):
    monkeypatch.setenv("MILABENCH_TRACES", str(tmp_path / "traces"))
    seen = []

    def counted(model, batch):
        seen.append(batch)
        return loss(model, batch)

    train(parsed("--profile"), counted)
    path = only(wire.close(), "trace")
    assert path == str(tmp_path / "traces" / "toy-single.rank0.trace.json")
    names = {event.get("name") for event in json.loads(Path(path).read_text())["traceEvents"]}
    assert {"step 0", "step 1", "step 2", "aten::embedding"} <= names
    assert len(seen) == 22 + 1 + 3  # measured and warm-up, the profiler's warm-up, the trace


class Counted(Tokens):
    """A dataset that counts the samples which are read."""

    read = 0

    def __getitem__(self, index):
        self.read += 1
        return super().__getitem__(index)


@pytest.mark.parametrize(("kind", "read"), [("core", 2), ("e2e", 2 * 22)])
def test_only_e2e_reads_its_data_in_each_step(wire, kind, read):
    samples = Counted(100, 4, 10, 0)
    train(parsed("--trainer", kind), samples=samples)
    assert samples.read == read
    assert sum(p["steps"] for p in measured(wire.close())) == 20


def test_a_first_step_always_warms_up():
    with pytest.raises(SystemExit):
        parsed("--warmup", "0")
