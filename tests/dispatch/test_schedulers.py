import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch import slurm_queue
from milabench_ddp.dispatch.schedulers import ProcessJobs, scheduler_of, split_into_jobs
from milabench_ddp.errors import DispatchError, RunDirError
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import JobState
from tests.support.dispatch import plan
from tests.support.launches import benchmark
from tests.support.wait import PATIENCE, wait_for

BENCHMARKS = [benchmark("a", num_machines=1), benchmark("b", num_machines=4), benchmark("c")]
SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def job() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that looks like a job of submitit."""
    with subprocess.Popen([*SLEEPS, "submitit"]) as popen:
        yield popen
        popen.kill()


def test_jobs_that_are_there_and_jobs_that_are_gone(job: "subprocess.Popen[bytes]") -> None:
    ids = [str(job.pid), "99999999", "DEBUG_1"]
    wait_for(lambda: not ProcessJobs().statuses(ids)[ids[0]].has_ended)  # it has started
    assert [status.has_ended for status in ProcessJobs().statuses(ids).values()] == [
        False,
        True,
        True,
    ]
    assert ProcessJobs().cancel(ids)
    assert job.wait(PATIENCE) == -signal.SIGTERM
    assert ProcessJobs().statuses(ids)[ids[0]].has_ended


def test_a_pid_that_is_of_another_program_by_now() -> None:
    with subprocess.Popen(SLEEPS) as other:
        assert ProcessJobs().statuses([str(other.pid)])[str(other.pid)].has_ended
        assert ProcessJobs().cancel([str(other.pid)])
        other.kill()
        assert other.wait(PATIENCE) == -signal.SIGKILL


def test_the_scheduler_of_a_run(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    with pytest.raises(RunDirError, match="cannot read"):
        scheduler_of(run)
    write_record(run.plan_json, plan(runner=RunnerProfile(kind="slurm")))
    assert scheduler_of(run) is slurm_queue
    write_record(run.plan_json, plan(runner=RunnerProfile(kind="slurm", cluster="local")))
    assert isinstance(scheduler_of(run), ProcessJobs)
    write_record(run.plan_json, plan())
    with pytest.raises(DispatchError, match="has no jobs of a scheduler"):
        scheduler_of(run)


def test_one_job_for_all_has_the_most_nodes() -> None:
    assert split_into_jobs(BENCHMARKS, 2, "shared") == [JobState("all", 4, ("a", "b", "c"))]


def test_of_a_resumed_run_it_has_no_more_than_what_is_missing_needs() -> None:
    assert split_into_jobs(BENCHMARKS[:1], 8, "shared") == [JobState("all", 1, ("a",))]


def test_a_job_for_each_the_largest_first() -> None:
    assert split_into_jobs(BENCHMARKS, 2, "separate") == [
        JobState("b", 4, ("b",)),
        JobState("c", 2, ("c",)),
        JobState("a", 1, ("a",)),
    ]


@pytest.mark.parametrize("allocation", ["shared", "separate"])
def test_they_are_not_submitted_yet(allocation: str) -> None:
    for job in split_into_jobs(BENCHMARKS, 2, allocation):
        assert (job.id, job.state) == ("", "")
