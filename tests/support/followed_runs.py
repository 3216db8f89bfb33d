"""A run elsewhere that a follower follows: its files and its scheduler are played."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from milabench_ddp.codec import write_record
from milabench_ddp.dispatch.follow import ASK, RunFollower
from milabench_ddp.dispatch.slurm_queue import JobStatus
from milabench_ddp.events import Status
from milabench_ddp.results.read_state import read_benchmark
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, JobState
from tests.support.dispatch import Clock
from tests.support.progress import RecordedProgress
from tests.support.run_headers import header

Event = Callable[[], None]


class Story:
    """A run of some benchmarks in one job; at each look the next thing happens."""

    def __init__(self, folder: Path, names: Sequence[str], *, in_job: bool = True) -> None:
        self.dir, self.told, self._clock = RunDir(folder), RecordedProgress(), Clock()
        self.header = header(*names)
        if in_job:
            self.header.jobs.append(JobState("all", 1, tuple(names), id="7"))
        self.answer: dict[str, JobStatus] | None = {"7": JobStatus("PENDING", False, "Priority")}
        self.asked = 0
        self._in_job = in_job
        self.made()

    def made(self) -> "Story":
        """Create a new follower."""
        scheduler = self if self._in_job else None
        self.follower = RunFollower(
            self.dir, self.header, self.told, scheduler, clock=self._clock, sleep=self._sleep
        )
        return self

    # A scheduler.

    def statuses(self, ids: Sequence[str]) -> dict[str, JobStatus] | None:
        self.asked += 1
        if self.answer is None:
            return None
        return {job: status for job, status in self.answer.items() if job in ids}

    def cancel(self, _ids: Sequence[str]) -> bool:
        raise AssertionError("a follower does not cancel")

    # What happens.

    def benchmark(self, name: str, status: str, reason: str = "", **more: Any) -> Event:
        state = BenchmarkState(name, Status(status), reason, **more)
        if state.status.has_ended:
            state.ended = time.time()
        return lambda: write_record(self.dir.state_json(name), state)

    def job(self, word: str, *, ended: bool) -> Event:
        return lambda: self.answers({"7": JobStatus(word, ended)})

    def answers(self, answer: dict[str, JobStatus] | None) -> None:
        self.answer = answer

    def follow(self, *events: Event | None) -> bool:
        """Follow while this happens, one event every few seconds; whether the run ended."""
        self._script: Iterator[Event | None] = iter(events)
        last = self._clock() + 100 * ASK
        return self.follower.follow(lambda: self._clock() > last)

    def _sleep(self, _seconds: float) -> None:
        self._clock.sleep(ASK)
        event = next(self._script, None)
        if event is not None:
            event()

    def state(self, name: str) -> BenchmarkState:
        found = read_benchmark(self.dir, name)
        assert found is not None
        return found
