"""What a follower reports of a run elsewhere; the test plays its files and its scheduler."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.dispatch.follow import ASK, RunFollower
from milabench_ddp.events import Outcome, Status, Verdict
from milabench_ddp.results.isolation import IsolationRecord, ProbeRecord
from milabench_ddp.results.lock import alive
from milabench_ddp.results.read_state import read_benchmark
from milabench_ddp.results.state import (
    BenchmarkState,
    LaunchState,
    ProcessState,
    Repeats,
)
from tests.support.followed_runs import Event, Story
from tests.support.progress import RecordedProgress

Make = Callable[..., Story]
OK = Verdict(Outcome.OK)


@pytest.fixture
def story(tmp_path: Path) -> Make:
    return lambda *names, **options: Story(tmp_path, names, **options)


def test_from_the_queue_to_the_end(story: Make, tmp_path: Path) -> None:
    run = story("a", "b")
    (tmp_path / "a").mkdir()
    with alive(tmp_path / "a"):
        assert run.follow(
            run.job("RUNNING", ended=False),
            run.benchmark("a", "running", nodes=("n0", "n1")),
            run.benchmark("a", "ok"),
            run.benchmark("b", "failed", "ValueError: no"),
        )
    assert run.told.messages == ["job 7: PENDING (Priority)", "job 7: RUNNING"]
    assert run.told.begun == [("a", ("n0", "n1"))]
    assert run.told.ended == {"a": OK, "b": Verdict(Outcome.FAILED, "ValueError: no")}
    assert run.follower.statuses == {"a": Status.OK, "b": Status.FAILED}


def test_what_had_ended_before_is_not_told_again(story: Make) -> None:
    run = story("a", "b")
    run.benchmark("a", "ok")()
    assert run.made().follow(run.benchmark("b", "ok"))
    assert run.told.ended == {"b": OK}
    assert run.follower.statuses == {"a": Status.OK, "b": Status.OK}


def test_one_who_comes_later_is_told_of_what_has_ended(story: Make) -> None:
    run = story("a", "b")
    run.benchmark("a", "failed", "no")()
    RunFollower(run.dir, run.header, run.told, run, tells_ended=True)
    assert run.told.ended == {"a": Verdict(Outcome.FAILED, "no")}


def test_one_that_is_lost_where_no_scheduler_starts_it_again(story: Make, tmp_path: Path) -> None:
    """Its command was killed while it ran: it will not go on."""
    run = story("a", in_job=False)
    write_record(run.dir.run_json, run.header)
    (tmp_path / "a").mkdir()
    locks = ExitStack()
    for folder in (tmp_path, tmp_path / "a"):
        locks.enter_context(alive(folder))
    assert run.follow(run.benchmark("a", "running"), None, locks.close)
    assert run.told.begun == [("a", ())]
    assert run.told.ended == {"a": Verdict(Outcome.LOST, "the run was cut off")}


@pytest.mark.parametrize(
    ("word", "ran", "waited"),
    [
        ("TIMEOUT", Verdict(Outcome.TIMEOUT, "ended by the time limit of its job"), "not begun"),
        ("CANCELLED", Verdict(Outcome.CANCELLED, "its job was cancelled"), "cancelled"),
        ("NODE_FAIL", Verdict(Outcome.LOST, "its job ended: NODE_FAIL"), "not begun"),
        ("OUT_OF_MEMORY", Verdict(Outcome.FAILED, "its job ended: OUT_OF_MEMORY"), "not begun"),
    ],
)
def test_what_a_job_left_when_it_ended(
    story: Make, tmp_path: Path, word: str, ran: Verdict, waited: str
) -> None:
    run = story("a", "b")
    (tmp_path / "a").mkdir()
    with alive(tmp_path / "a"):
        assert run.follow(run.benchmark("a", "running"), run.job(word, ended=True))
    assert run.told.ended["a"] == ran
    assert str(run.told.ended["b"].outcome) == waited
    for name in "ab":
        state = run.state(name)
        assert Verdict(Outcome(state.status), state.reason) == run.told.ended[name]
        assert state.interrupted
        assert not state.is_final
    assert run.header.jobs[0].state == word


def test_when_a_benchmark_ran_is_by_the_clock_of_its_coordinator(story: Make) -> None:
    """An hour behind that of this host; of one whose end this host must tell, it is not known."""
    run = story("a", "b")
    began = time.time() - 3600.0
    state = BenchmarkState("a", Status.OK, started=began, ended=began + 20.0)
    assert run.follow(
        lambda: write_record(run.dir.state_json("a"), state),
        run.benchmark("b", "running", started=began),
        run.job("TIMEOUT", ended=True),
    )
    assert run.told.ran == {"a": (began, began + 20.0), "b": None}


def test_what_its_coordinator_said_last_is_not_written_over(story: Make) -> None:
    """The coordinator wrote that it was pre-empted, and the job never starts again."""
    run = story("a")
    why = "pre-empted by another job"
    assert run.follow(
        run.benchmark("a", "cancelled", why, interrupted=True), run.job("PREEMPTED", ended=True)
    )
    assert run.follower.statuses == {"a": Status.CANCELLED}
    assert run.state("a").reason == why


def test_a_benchmark_that_ran_again_between_two_looks(story: Make) -> None:
    run = story("a")
    assert run.follow(
        run.benchmark("a", "cancelled", "pre-empted by another job", interrupted=True),
        run.job("PENDING", ended=False),
        run.benchmark("a", "ok"),
    )
    assert run.follower.statuses == {"a": Status.OK}


def test_a_benchmark_whose_coordinator_is_gone_may_run_again(story: Make, tmp_path: Path) -> None:
    run = story("a")
    (tmp_path / "a").mkdir()
    locks = ExitStack()
    locks.enter_context(alive(tmp_path / "a"))
    assert run.follow(
        run.benchmark("a", "running"),
        None,
        locks.close,
        None,
        run.benchmark("a", "ok"),
    )
    assert run.told.messages.count("a: the run was cut off") == 1
    assert run.follower.statuses == {"a": Status.OK}


def test_one_that_runs_again_begins_again_also_for_a_second_follower(
    story: Make, tmp_path: Path
) -> None:
    run = story("a")
    told = [run.told, RecordedProgress()]
    others = RunFollower(run.dir, run.header, told[1])  # another command follows the jobs
    (tmp_path / "a").mkdir()
    for ago in (500, 20):
        with alive(tmp_path / "a"):
            run.benchmark("a", "running", started=time.time() - ago)()
            run.follower.look()
            others.look()
        run.follower.look()
        others.look()
    for each in told:
        assert each.begun == [("a", ())] * 2
        assert each.ago["a"] == pytest.approx(20, abs=10)
        assert each.messages.count("a: the run was cut off") == 2
        assert each.ended == {}


def test_a_benchmark_that_waits_again(story: Make, tmp_path: Path) -> None:
    """Its job was pre-empted, and has started again."""
    run = story("a")
    (tmp_path / "a").mkdir()
    with alive(tmp_path / "a"):
        assert run.follow(
            run.benchmark("a", "running"),
            run.benchmark("a", "waiting"),
            None,
            run.benchmark("a", "running"),
            run.benchmark("a", "ok"),
        )
    assert run.told.messages[1:] == ["a: it waits again"]
    assert run.told.ended == {"a": OK}


def test_a_job_that_stays_unknown_for_a_minute_is_gone(story: Make) -> None:
    run = story("a")
    run.answers({})
    assert run.follow()
    why = "its job ended before it began: UNKNOWN"
    assert run.told.ended == {"a": Verdict(Outcome.NOT_BEGUN, why)}
    assert run.asked == pytest.approx(60 / ASK, abs=2)


def test_a_scheduler_that_does_not_answer_is_waited_for(story: Make) -> None:
    run = story("a")
    run.answers(None)
    assert run.follow(*[None] * 50, run.job("RUNNING", ended=False), None, run.benchmark("a", "ok"))
    said = ["the scheduler does not answer", "the scheduler answers again", "job 7: RUNNING"]
    assert run.told.messages == said
    assert run.told.ended == {"a": OK}


def test_it_may_stop_looking_and_loses_nothing(story: Make) -> None:
    run = story("a")
    assert not run.follow()
    assert run.told.ended == {}
    assert read_benchmark(run.dir, "a") is None
    run.benchmark("a", "ok")()
    assert run.follow()
    assert run.follower.statuses == {"a": Status.OK}


def test_without_jobs_the_run_says_that_it_has_ended(story: Make, tmp_path: Path) -> None:
    run = story("a", "b", in_job=False)
    write_record(run.dir.run_json, run.header)

    def ends() -> None:
        run.benchmark("b", "cancelled", "stopped before it began")()
        run.header.outcome = Outcome.CANCELLED
        write_record(run.dir.run_json, run.header)

    with alive(tmp_path):
        assert run.follow(run.benchmark("a", "ok"), None, None, ends)
    assert run.told.ended == {
        "a": OK,
        "b": Verdict(Outcome.CANCELLED, "stopped before it began"),
    }
    assert run.asked == 0


def test_launches_and_pauses_between_them_are_told(story: Make, tmp_path: Path) -> None:
    process = ProcessState("a.R0.D0", 1, 0, Outcome.OK, "", 10.0, 20.0)
    launches = [LaunchState(k, Outcome.OK, "", (process,)) for k in range(2)]
    run = story("a")
    (tmp_path / "a").mkdir()

    def state(status: str, count: int, **more: Any) -> Event:
        return run.benchmark("a", status, launches=launches[:count], repeats=Repeats(2), **more)

    with alive(tmp_path / "a"):
        assert run.follow(
            state("running", 0),
            state("running", 1, is_paused=True),
            state("running", 1, is_paused=True),
            state("running", 1),
            state("ok", 2),
        )
    assert [name for name, _ in run.told.begun] == ["a", "a"]
    assert run.told.launches == [("a", 1, 2, True)]
    assert "a: 1 launch; 1 more, 10 s" in run.told.messages
    assert run.told.ended == {"a": OK}


def test_a_state_that_is_damaged_is_that_benchmarks_trouble(story: Make, tmp_path: Path) -> None:
    """The others are followed to their ends, and what the jobs tell is its verdict."""
    run = story("a", "b")

    def damage() -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "state.json").write_text("{")

    assert run.follow(damage, run.benchmark("b", "ok"), run.job("COMPLETED", ended=True))
    assert run.told.ended["b"] == OK
    assert run.told.ended["a"].outcome is Outcome.NOT_BEGUN
    assert "its job ended" in run.state("a").reason


def isolation(run: Story, *, is_open: bool, probes: int = 1) -> Event:
    told = ProbeRecord("a/probe0", 1, ("n0", "n1"), (), Outcome.OK, "", None, is_bad=False)
    record = IsolationRecord(("n0", "n1"), True, [told] * probes, is_open=is_open)
    return lambda: write_record(run.dir.isolation_json("a"), record)


def test_a_benchmark_whose_nodes_are_isolated_ends_with_its_isolation(story: Make) -> None:
    """The isolation begins a little after the benchmark has ended."""
    run = story("a", "b")
    run.header.suite["a"] = {"isolate": 2}
    assert run.made().follow(
        run.benchmark("a", "failed", "no"),
        run.benchmark("b", "ok"),
        None,
        isolation(run, is_open=True),
        isolation(run, is_open=True, probes=3),
        isolation(run, is_open=False, probes=3),
        lambda: pytest.fail("it follows on"),
    )
    assert run.told.ended == {"a": Verdict(Outcome.FAILED, "no"), "b": OK}
    told = [text for text in run.told.messages if "isolation" in text]
    assert told == [f"isolation of a: {count} probes have ended" for count in (1, 3)]


def test_an_isolation_ends_with_its_job_at_the_latest(story: Make) -> None:
    run = story("a")
    run.header.suite["a"] = {"isolate": 2}
    assert run.made().follow(
        run.benchmark("a", "failed", "no"),
        isolation(run, is_open=True),
        run.job("TIMEOUT", ended=True),
    )
    assert run.follower.statuses == {"a": Status.FAILED}
    assert run.state("a").is_final


def test_one_that_was_isolated_before_is_not_followed(story: Make) -> None:
    run = story("a", "b")
    run.header.suite["a"] = {"isolate": 2}
    run.benchmark("a", "failed")()
    isolation(run, is_open=False)()
    assert run.made().follow(run.benchmark("b", "ok"))
