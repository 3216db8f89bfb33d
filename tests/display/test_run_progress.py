import pytest

from milabench_ddp.display.run_progress import PHASES, Outline, RunningBenchmark, RunProgress
from milabench_ddp.events import Data, Note, Outcome, Output, Verdict
from milabench_ddp.progress import LaunchCount
from tests.support.dispatch import Clock
from tests.support.progress import OK, begins_to_measure, ended, load, rate, started


def running(*names: str) -> tuple[RunProgress, Clock]:
    clock = Clock()
    known = RunProgress(Outline(), clock)
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
    assert known.take(Output("b.D0", 0.0, "stdout", "hello\n")) is None
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


def test_rates_are_averaged_over_processes_and_loads_are_of_each_device():
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
    loads = {place: now.load for place, now in benchmark.devices.items()}
    assert (benchmark.rate, benchmark.loss) == ("3 items/s", "nan")
    assert loads == {("", "0"): 0.5, ("", "1"): 1.0}


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
    assert (benchmark.rate, benchmark.loss) == ("", "")
    assert all(now.load is None for now in benchmark.devices.values())


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


def test_a_unit_that_is_long_is_cut():
    known, _ = running("a")
    known.take(Data("a.0", 0.0, {"task": "train", "rate": 2.0, "units": "x" * 10**6}))
    (line,) = known.end("a", OK)
    assert len(line) < 200


def test_an_end_is_told_with_its_time_its_rate_and_its_reason():
    known, clock = running("a", "b")
    known.take(rate("a.0", 2.0))
    clock.sleep(12.34)
    assert known.end("a", OK) == ["a: ok in 12.3 s, last rate 2 items/s"]
    assert known.end("b", Verdict(Outcome.LOST, "n1 is gone")) == ["b: lost in 12.3 s, n1 is gone"]
    assert known.end("c", Verdict(Outcome.SKIPPED), ["warning  c: x"]) == [
        "c: skipped",
        "warning  c: x",
    ]
    assert known.problems == ["lost  b: n1 is gone", "warning  c: x"]
    assert known.running == {}


@pytest.mark.parametrize(("done", "said"), [(0, "7.5"), (1, "7.5"), (2, "12.0")])
def test_how_long_one_elsewhere_took_is_by_the_clock_that_is_there(done, said):
    known, clock = running("a")
    clock.sleep(12.0)
    if done:
        known.launch_ended("a", LaunchCount(done, done), pauses=False)
    assert known.end("a", OK, ran=(1000.0, 1007.5)) == [f"a: ok in {said} s"]


def test_what_begins_again_has_not_ended():
    known, clock = running("a", "b")
    known.end("a", Verdict(Outcome.LOST))
    assert (known.counts(), list(known.running)) == ("1 lost", ["b"])
    clock.sleep(5.0)
    known.begin("a", [], 60.0)
    assert (known.counts(), list(known.running)) == ("", ["b", "a"])
    clock.sleep(5.0)
    assert known.end("a", OK) == ["a: ok in 5.0 s"]
    assert known.end("b", OK) == ["b: ok in 10.0 s"]
    assert known.end("c", Verdict(Outcome.FAILED)) == ["c: failed"]
    assert known.counts() == "2 ok, 1 failed"


def test_the_time_between_its_launches_is_not_its_own():
    known, clock = running("a", "b")
    clock.sleep(10.0)
    known.launch_ended("a", LaunchCount(1, 3, 10.0), pauses=True)
    assert (list(known.running), list(known.paused)) == (["b"], ["a"])
    clock.sleep(100.0)
    known.begin("a", [], 60.0)
    clock.sleep(12.0)
    known.launch_ended("a", LaunchCount(2, 3, 11.0), pauses=True)
    clock.sleep(50.0)
    assert known.end("a", OK) == ["a: ok in 22.0 s"]


def test_what_is_left_takes_as_long_as_its_launches_so_far():
    clock = Clock()
    known = RunProgress(Outline(("a", "b", "c"), launches=5, seconds={"b": 20.0}), clock)
    assert known.seconds_left is None  # nothing tells of a and c
    known.begin("a", [], 60.0)
    clock.sleep(10.0)
    known.launch_ended("a", LaunchCount(1, 7, 10.0), pauses=False)
    # 6 more of a, 5 of b as before, and c as the others
    assert known.seconds_left == 6 * 10.0 + 5 * 20.0 + 5 * 10.0
    clock.sleep(4.0)
    assert known.seconds_left == 6 * 10.0 + 5 * 20.0 + 5 * 10.0 - 4.0
    known.end("a", OK)
    known.end("c", OK)
    known.begin("b", [], 60.0)
    clock.sleep(500.0)  # it takes longer than it did
    assert known.seconds_left == 4 * 20.0
    known.end("b", OK)
    assert known.seconds_left == 0.0


def test_samples_are_those_of_their_node():
    known, _ = running()
    known.begin("b", ["n1", "n10"], 60.0)
    known.take(load("b.D0.n1", "0", 0.5))
    known.take(load("b.D0.n10", "0", 0.6))
    loads = {place: now.load for place, now in only(known).devices.items()}
    assert loads == {("n1", "0"): 0.5, ("n10", "0"): 0.6}
