"""A job that starts again asks for the nodes of what is missing; the test is the scheduler."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.job_follower import JobFollower
from milabench_ddp.dispatch.schedulers import ProcessJobs
from milabench_ddp.dispatch.slurm_queue import JobStatus
from milabench_ddp.events import Status
from milabench_ddp.results.state import BenchmarkState, JobState
from tests.support.dispatch import Clock
from tests.support.launches import benchmark
from tests.support.progress import RecordedProgress
from tests.support.run_contexts import context

PROFILE = RunnerProfile("slurm")
WAITS = JobStatus("PENDING", False, "BeginTime")


class OneJob:
    """A scheduler with job 7."""

    def __init__(self) -> None:
        self.status = WAITS
        self.accepts = True
        self.resized: list[tuple[str, int]] = []

    def statuses(self, _ids: Sequence[str]) -> dict[str, JobStatus]:
        return {"7": self.status}

    def cancel(self, _ids: Sequence[str]) -> bool:
        raise AssertionError("nothing is to be cancelled")

    def resize(self, job: str, nodes: int, profile: RunnerProfile) -> bool:
        assert profile == PROFILE
        self.resized.append((job, nodes))
        return self.accepts


class Restart:
    """A run of benchmarks on 4, 2 and 1 nodes, in one job of four nodes."""

    def __init__(self, folder: Path) -> None:
        sizes = {"a": 4, "b": 2, "c": 1}
        parts = [benchmark(name, num_machines=size) for name, size in sizes.items()]
        self.run = context(folder, *parts, nodes=4, runner=PROFILE).run
        self.told, self.slurm = RecordedProgress(), OneJob()
        job = JobState("all", 4, ("a", "b", "c"), id="7")
        self.follower = JobFollower(self.run, [job], self.slurm, self.told, Clock())

    def ends(self, *names: str) -> None:
        for name in names:
            write_record(self.run.state_json(name), BenchmarkState(name, Status.OK, ended=2.0))

    def look(self) -> list[tuple[str, int]]:
        assert not self.follower.have_ended()
        return self.slurm.resized


@pytest.fixture
def it(tmp_path: Path) -> Restart:
    return Restart(tmp_path)


@pytest.mark.parametrize(
    ("ended", "asked"),
    [((), []), (("c",), []), (("a",), [("7", 2)]), (("a", "b"), [("7", 1)]), ("abc", [])],
)
def test_it_asks_for_what_is_missing(
    it: Restart, ended: Sequence[str], asked: list[tuple[str, int]]
) -> None:
    it.ends(*ended)
    assert it.look() == asked
    assert it.look() == asked  # once
    said = [f"job 7: asks for {nodes} of its 4 nodes" for _, nodes in asked]
    assert it.told.messages[1:] == said


def test_only_while_it_waits(it: Restart) -> None:
    it.ends("a")
    for it.slurm.status in (JobStatus("RUNNING", False), JobStatus("PENDING", False)):
        assert it.look() == []


def test_a_scheduler_that_refuses_is_asked_again(it: Restart) -> None:
    it.ends("a")
    it.slurm.accepts = False
    it.look()
    assert it.look() == [("7", 2)] * 2
    assert it.told.messages == ["job 7: PENDING (BeginTime)"]


def test_a_job_on_this_host_has_one_node() -> None:
    assert not ProcessJobs().resize("7", 1, PROFILE)
