import pytest

from milabench_ddp.display.run_progress import PHASES, RunningBenchmark, RunProgress
from milabench_ddp.events import Data, Line, Note, Outcome, Verdict
from tests.support.dispatch import Clock
from tests.support.progress import OK, begins_to_measure, ended, load, rate, started


def running(*names: str) -> tuple[RunProgress, Clock]:
    clock = Clock()
    known = RunProgress(clock)
    for name in names:
        known.begin(name, [], 60.0)
    return known, clock


def only(known: RunProgress) -> RunningBenchmark:
    (benchmark,) = known.running.values()
    return benchmark


def test_a_benchmark_is_in_the_phase_that_all_its_processes_have_reached():
    known, _ = running("b")
    steps = [
        (started("b.D0"), "loading"),
        (started("b.D1"), "loading"),
        (rate("b.D0", 1.0, warmup=True), "loading"),
        (rate("b.D1", 1.0, warmup=True), "warm-up"),
        (Note("b.D0", 0.0, "ready", {}), "warm-up"),
        (Note("b.D1", 0.0, "ready", {}), "ready"),
        (begins_to_measure("b.D0"), "ready"),
        (begins_to_measure("b.D1"), "measuring"),
        (rate("b.D0", 1.0, warmup=True), "measuring"),
        (ended("b.D0"), "measuring"),
        (ended("b.D1"), "ending"),
    ]
    assert only(known).phase == ""
    before = ""
    for event, phase in steps:
        changed = known.take(event)
        assert only(known).phase == phase
        assert (changed is not None) == (phase != before)
        before = phase


def test_every_phase_that_a_rate_can_tell_is_one_of_the_phases():
    known, _ = running("b")
    known.take(rate("b.0", 1.0))
    assert only(known).phase in PHASES


def test_other_events_change_nothing():
    known, _ = running("b")
    assert known.take(Line("b.D0", 0.0, "stdout", "hello\n")) is None
    assert known.take(Note("b.D0", 0.0, "message", "hello")) is None
    assert only(known).phase == ""


@pytest.mark.parametrize(
    ("value", "units", "text"),
    [
        (1234.5, "items/s", "1234 items/s"),
        (0.123456, "items/s", "0.1235 items/s"),
        (3, "", "3"),
        (1.0, "a\n b", "1 a b"),
        (float("nan"), "x", "nan x"),
    ],
)
def test_a_rate_has_four_digits_and_its_unit(value: float, units: str, text: str):
    known, _ = running("b")
    known.take(Data("b.0", 0.0, {"rate": value, "units": units}))
    assert only(known).rate == text


def test_rates_are_averaged_over_processes_and_loads_over_devices():
    known, _ = running("b")
    for event in (
        rate("b.D0", 1.0),
        rate("b.D0", 2.0),
        rate("b.D1", 4.0, loss=float("nan")),
        load("b.D0", "0", 0.5),
        load("b.D1", "1", 1.0),
    ):
        known.take(event)
    benchmark = only(known)
    assert (benchmark.rate, benchmark.loss, benchmark.load) == ("3 items/s", "nan", 0.75)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"rate": "fast", "loss": None, "gpudata": [1]},
        {"gpudata": {"0": 5, "1": {"load": None}, "2": {}}},
    ],
)
def test_a_payload_that_says_nothing_of_use_is_passed_over(payload: dict[str, object]):
    known, _ = running("b")
    known.take(Data("b.0", 0.0, payload))
    benchmark = only(known)
    assert (benchmark.rate, benchmark.loss, benchmark.load) == ("", "", None)


def test_a_repeat_begins_with_its_first_event():
    known, clock = running("b")
    clock.sleep(1.0)
    known.take(started("b.R1.D0"))
    known.take(rate("b.R1.D0", 2.0, loss=1.5))
    assert (only(known).title, only(known).repeat_began) == ("b R1", 1001.0)
    clock.sleep(10.0)
    known.take(started("b.R2.D0"))
    benchmark = only(known)
    assert (benchmark.title, benchmark.phase, benchmark.repeat_began) == ("b R2", "loading", 1011.0)
    assert (benchmark.rate, benchmark.loss, benchmark.began) == ("", "", 1000.0)


@pytest.mark.parametrize(
    ("tag", "owner"),
    [
        ("gpt.D0", "gpt"),
        ("gpt.0.node1", "gpt"),
        ("gpt.1.5b.D0", "gpt.1.5b"),
        ("gpt.1.5b.R1.D0.node1", "gpt.1.5b"),
        ("gpt-2.D0", None),
        ("resnet.D0", None),
    ],
)
def test_an_event_belongs_to_the_longest_name_that_its_tag_begins_with(tag: str, owner: str | None):
    known, _ = running("gpt", "gpt.1.5b")
    changed = known.take(started(tag))
    assert (None if changed is None else changed.name) == owner


def test_an_end_is_told_with_its_time_its_rate_and_its_reason():
    known, clock = running("a", "b")
    known.take(rate("a.0", 2.0))
    clock.sleep(12.34)
    assert known.end("a", OK) == "a: ok in 12.3 s, last rate 2 items/s"
    assert known.end("b", Verdict(Outcome.LOST, "n1 is gone")) == "b: lost in 12.3 s, n1 is gone"
    assert known.end("c", Verdict(Outcome.SKIPPED)) == "c: skipped"
    assert known.running == {}


def test_what_begins_again_has_not_ended():
    known, clock = running("a", "b")
    known.end("a", Verdict(Outcome.LOST))
    assert known.summary(4) == "1 of 4 benchmarks (1 lost), 1 running, 2 waiting"
    clock.sleep(5.0)
    known.begin("a", [], 60.0)
    assert known.summary(4) == "0 of 4 benchmarks, 2 running, 2 waiting"
    clock.sleep(5.0)
    assert known.end("a", OK) == "a: ok in 5.0 s"
    assert known.end("b", OK) == "b: ok in 10.0 s"
    assert known.end("c", Verdict(Outcome.FAILED)) == "c: failed"
    assert known.summary(4) == "3 of 4 benchmarks (2 ok, 1 failed), 0 running, 1 waiting"
