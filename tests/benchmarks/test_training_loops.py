"""The loop in each training program: the times of a scripted strategy are reported exactly."""

import pytest

from benchmarks.common import session, strategies
from benchmarks.common.data import Source
from tests.support.fake_time import Time
from tests.support.programs import measured, program
from tests.support.scripted_strategies import Interleaved, Phased

PROGRAMS = {
    "gpt": "--model GPTTiny --block-size 16 --mode ddp",
    "transformers": "--model hf_Bert --scale tiny --tokens 16 --mode ddp",
    "torchvision": "--model resnet18 --image-size 32",
    "torchvision_ddp": "--model resnet18 --image-size 32",
}
ITEMS = {"gpt": 2 * 16, "transformers": 2 * 16, "torchvision": 2, "torchvision_ddp": 2}


def only(payloads, key):
    (found,) = [p[key] for p in payloads if key in p]
    return found


@pytest.fixture
def loop(wire, monkeypatch):
    """The payloads of a program whose strategy is a scripted one."""

    def run(name, kind, *more):
        clock = Time()
        monkeypatch.setattr(session, "clock_of", lambda device: clock)
        monkeypatch.setattr(strategies, "build", lambda *args: kind(clock))

        def slow(source, replica, replicas):
            while True:
                clock.sleep(5)
                yield ()

        monkeypatch.setattr(Source, "stream", slow)
        argv = f"{PROGRAMS[name]} --batch-size 2 --steps 20 --warmup 2 --device cpu"
        program(name).main([*argv.split(), *more])
        return wire.close()

    return run


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(
    ("kind", "fractions"),
    [
        (Phased, {"forward": 0.3, "backward": 0.5, "optimizer": 0.15, "host": 0.0, "data": 0.05}),
        (Interleaved, {"forward_backward": 0.8, "optimizer": 0.15, "host": 0.0, "data": 0.05}),
    ],
)
def test_known_times_are_reported_exactly(loop, name, kind, fractions):
    payloads = loop(name, kind)
    # 4 replicas in 0.1 s; the 9 s of compilation are in no rate.
    rates = [p["rate"] for p in measured(payloads)]
    assert rates == pytest.approx([40.0 * ITEMS[name]] * len(rates))
    assert sum(p["steps"] for p in measured(payloads)) == 20
    assert only(payloads, "shares") == fractions
    assert only(payloads, "step_times")["ms"] == [100.0] * 20
    model = only(payloads, "model")
    assert model["step_ms"] == 100.0
    assert model["buckets"] == 3
    assert model["replicas"] == 4
    assert model["tflops_per_gpu"] == pytest.approx(model["flops_per_step"] / 0.1 / 1e12)
    assert model["first_step_s"] == 9.07


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_many_steps_as_take_the_seconds_that_were_asked_for(loop, name):
    payloads = loop(name, Phased, "--seconds", "4")  # steps of warm-up from the third on took 0.1 s
    assert sum(p["steps"] for p in measured(payloads)) == 40
    facts = {"steps": 40, "seconds": 4.0, "warmup_step_ms": 100.0, "gc": "frozen"}
    assert only(payloads, "loop") == facts
    assert only(payloads, "step_times")["ms"] == [100.0] * 40
    assert only(payloads, "step_times")["from"] == 6


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_loss_is_that_of_the_step(loop, name):
    assert {p["loss"] for p in loop(name, Phased) if "loss" in p} == {0.5}
