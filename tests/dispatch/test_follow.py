"""What a follower tells of a run that goes on elsewhere: its files and the scheduler are played."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.dispatch.follow import ASK, Follower
from milabench_ddp.dispatch.scheduler import JobState
from milabench_ddp.results.points import is_final, read_point, save_point
from milabench_ddp.results.run_dir import RunDir, alive
from milabench_ddp.results.runfile import BenchmarkState
from tests.support.dispatch import Clock
from tests.support.scripted_nodes import Told

Event = Callable[[], None]
RUNNING = JobState("RUNNING", False)


class Story:
    """A run of some points in one job; at each look the next thing happens."""

    def __init__(self, folder: Path, points: Sequence[str]) -> None:
        self.folder, self.told, self._clock = folder, Told(), Clock()
        self.jobs: list[dict[str, Any]] = [{"id": "7", "state": None, "points": list(points)}]
        self.answer: dict[str, JobState] | None = {"7": JobState("PENDING", False, "Priority")}
        self.asked = 0
        limits = dict.fromkeys(points, 60.0)
        self.follower = Follower(RunDir(folder), points, self.jobs, self.told, self._ask, limits)

    def _ask(self, ids: Sequence[str]) -> dict[str, JobState] | None:
        self.asked += 1
        if self.answer is None:
            return None
        return {job: state for job, state in self.answer.items() if job in ids}

    def point(self, name: str, outcome: str, reason: str = "", **more: Any) -> Event:
        if outcome not in ("running", "waiting"):
            more = {"ended": time.time(), **more}
        state = BenchmarkState(name, outcome, reason, **more)
        return lambda: save_point(self.folder / name, state)

    def job(self, word: str, *, ended: bool) -> Event:
        return lambda: self.answers({"7": JobState(word, ended)})

    def answers(self, answer: dict[str, JobState] | None) -> None:
        self.answer = answer

    def follow(self, *events: Event | None) -> bool:
        """Whether it saw the end, once all this has happened, one thing every few seconds."""
        script: Iterator[Event | None] = iter(events)
        over = False

        def until() -> bool:
            return over

        def sleep(_: float) -> None:
            nonlocal over
            self._clock.sleep(ASK)
            event = next(script, None)
            if event is not None:
                event()
            over = self._clock() > 1000 + 100 * ASK

        return self.follower.follow(until, self._clock, sleep)


@pytest.fixture
def story(tmp_path: Path) -> Callable[..., Story]:
    return lambda *points: Story(tmp_path, points)


def test_from_the_queue_to_the_end(story: Callable[..., Story], tmp_path: Path) -> None:
    run = story("a", "b")
    (tmp_path / "a").mkdir()
    with alive(tmp_path / "a"):
        assert run.follow(
            run.job("RUNNING", ended=False),
            run.point("a", "running", nodes=["n0", "n1"]),
            run.point("a", "ok"),
            run.point("b", "failed", "ValueError: no"),
        )
    assert run.told.said == ["job 7: PENDING (Priority)", "job 7: RUNNING"]
    assert run.told.begun == [("a", ("n0", "n1"))]
    assert run.told.ended == {"a": ("ok", ""), "b": ("failed", "ValueError: no")}
    assert run.follower.outcomes == {"a": "ok", "b": "failed"}


@pytest.mark.parametrize(
    ("word", "ran", "waited"),
    [
        ("TIMEOUT", ("timeout", "ended by the time limit of its job"), "lost"),
        ("CANCELLED", ("cancelled", "its job was cancelled"), "cancelled"),
        ("NODE_FAIL", ("lost", "its job ended: NODE_FAIL"), "lost"),
    ],
)
def test_what_a_job_left_when_it_ended(
    story: Callable[..., Story], tmp_path: Path, word: str, ran: tuple[str, str], waited: str
) -> None:
    run = story("a", "b")
    (tmp_path / "a").mkdir()
    with alive(tmp_path / "a"):
        assert run.follow(run.point("a", "running"), run.job(word, ended=True))
    assert run.told.ended["a"] == ran
    assert run.told.ended["b"][0] == waited
    for name in "ab":
        state = read_point(tmp_path / name)
        assert state is not None
        assert (state["outcome"], state["cut_short"]) == (run.told.ended[name][0], True)
        assert not is_final(state)
    assert run.jobs[0]["state"] == word


def test_what_its_leader_said_last_is_not_written_over(
    story: Callable[..., Story], tmp_path: Path
) -> None:
    """Pre-empted: the leader has said so, and the job never starts again."""
    run = story("a")
    why = "pre-empted by another job"
    assert run.follow(
        run.point("a", "cancelled", why, cut_short=True), run.job("PREEMPTED", ended=True)
    )
    assert run.follower.outcomes == {"a": "cancelled"}
    state = read_point(tmp_path / "a")
    assert state is not None
    assert state["reason"] == why


def test_a_point_that_ran_again_between_two_looks(story: Callable[..., Story]) -> None:
    run = story("a")
    assert run.follow(
        run.point("a", "cancelled", "pre-empted by another job", cut_short=True),
        run.job("PENDING", ended=False),
        run.point("a", "ok"),
    )
    assert run.follower.outcomes == {"a": "ok"}


def test_a_point_whose_leader_is_gone_may_run_again(
    story: Callable[..., Story], tmp_path: Path
) -> None:
    run = story("a")
    (tmp_path / "a").mkdir()
    lock = alive(tmp_path / "a")
    lock.__enter__()
    assert run.follow(
        run.point("a", "running"),
        None,
        lambda: lock.__exit__(None, None, None),
        None,
        run.point("a", "ok"),
    )
    assert "a: whoever led it is gone" in run.told.said
    assert run.follower.outcomes == {"a": "ok"}


def test_a_job_that_nobody_knows_for_a_minute_is_gone(story: Callable[..., Story]) -> None:
    run = story("a")
    run.answers({})
    assert run.follow()
    assert run.told.ended == {"a": ("lost", "its job ended before it began: UNKNOWN")}
    assert run.asked == pytest.approx(60 / ASK, abs=1)


def test_a_scheduler_that_does_not_answer_is_waited_for(story: Callable[..., Story]) -> None:
    run = story("a")
    run.answers(None)
    assert run.follow(*[None] * 50, run.job("RUNNING", ended=False), None, run.point("a", "ok"))
    said = ["the scheduler does not answer", "the scheduler answers again", "job 7: RUNNING"]
    assert run.told.said == said
    assert run.told.ended == {"a": ("ok", "")}


def test_it_may_stop_looking_and_loses_nothing(story: Callable[..., Story], tmp_path: Path) -> None:
    run = story("a")
    assert not run.follow()
    assert run.told.ended == {}
    assert read_point(tmp_path / "a") is None
    run.point("a", "ok")()
    assert run.follow()
    assert run.follower.outcomes == {"a": "ok"}
