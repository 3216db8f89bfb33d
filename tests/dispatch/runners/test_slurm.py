"""Jobs and messages of a submission, and what is left of a run if the scheduler refuses it."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.run_context import RunContext, resume_run
from milabench_ddp.dispatch.runners import slurm
from milabench_ddp.dispatch.runners.slurm import SlurmRunner
from milabench_ddp.dispatch.slurm_queue import JobStatus
from milabench_ddp.errors import DispatchError, RunDirError
from milabench_ddp.events import Outcome, Status, Verdict
from milabench_ddp.results.read_state import read_benchmark, read_header
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, JobState
from tests.support.launches import benchmark
from tests.support.progress import RecordedProgress
from tests.support.run_contexts import context

PROFILE = RunnerProfile(kind="slurm", allocation="separate")


class FakeSlurm:
    """Accepts or refuses jobs; at the first question a job has ended, with all benchmarks ok."""

    def __init__(self) -> None:
        self.refuses = ""
        self.answer: dict[str, JobStatus] | None = {}
        self.submitted: list[JobState] = []

    def submit(
        self,
        run: RunDir,
        _profile: RunnerProfile,
        jobs: Sequence[JobState],
        note: Callable[[Sequence[JobState]], None],
    ) -> None:
        if self.refuses:
            raise DispatchError(self.refuses)
        for number, job in enumerate(jobs, 7):
            job.id = str(number)
            self.submitted.append(job)
            for name in job.benchmarks:
                assert read_benchmark(run, name) in (None, BenchmarkState(name))
                state = BenchmarkState(name, Status.OK, started=1.0, ended=2.0)
                write_record(run.state_json(name), state)
        note(jobs)

    def statuses(self, _ids: Sequence[str]) -> dict[str, JobStatus] | None:
        return self.answer

    def cancel(self, _ids: Sequence[str]) -> bool:
        raise AssertionError("nothing is to be cancelled")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    it = FakeSlurm()
    monkeypatch.setattr(slurm, "submit", it.submit)
    monkeypatch.setattr(slurm, "SCHEDULERS", {"slurm": it})
    return it


@pytest.fixture
def run(tmp_path: Path) -> RunContext:
    """A run of two benchmarks, each in its own job."""
    folder = tmp_path / "mine"
    folder.mkdir()
    one, two = benchmark("one", num_machines=1), benchmark("two", num_machines=2)
    return context(folder, one, two, nodes=2, runner=PROFILE)


def test_jobs_are_submitted_and_followed(cluster: FakeSlurm, run: RunContext) -> None:
    told = RecordedProgress()
    assert SlurmRunner().execute((run, told)) == [Outcome.OK]
    assert told.messages == [
        "job 7: nodes: 2, benchmarks: 1",
        "job 8: nodes: 1, benchmarks: 1",
    ]
    header = read_header(run.run)
    assert header.jobs == [JobState("two", 2, ("two",), "7"), JobState("one", 1, ("one",), "8")]
    assert header.outcome is Outcome.OK


def test_detached_it_returns_at_once(cluster: FakeSlurm, run: RunContext) -> None:
    told = RecordedProgress()
    run.detach = True
    assert SlurmRunner().execute((run, told)) == [Outcome.OK]
    assert told.messages[-1] == f"detached: `milabench watch {run.run.path}` follows it"
    assert told.ended == {}
    assert read_header(run.run).outcome is None


def test_a_new_run_that_is_refused_leaves_nothing(cluster: FakeSlurm, run: RunContext) -> None:
    """Its name can be used again."""
    cluster.refuses = "Slurm refuses the job: invalid account"
    with pytest.raises(DispatchError, match="invalid account"):
        SlurmRunner().execute((run, RecordedProgress()))
    assert not run.run.path.exists()


def test_a_resumed_run_that_is_refused_stays_as_it_was(cluster: FakeSlurm, run: RunContext) -> None:
    lost = BenchmarkState("two", Status.LOST, "its job ended: NODE_FAIL", ended=2.0)
    write_record(run.run.state_json("two"), lost)
    cluster.refuses = "Slurm refuses the job: invalid account"
    with pytest.raises(DispatchError, match="invalid account"):
        SlurmRunner().execute((resume_run(run.run, {}), RecordedProgress()))
    assert read_benchmark(run.run, "two") == lost
    assert not run.run.state_json("one").exists()


def test_a_resumed_run_has_jobs_for_what_is_missing(cluster: FakeSlurm, run: RunContext) -> None:
    run.header.jobs.append(JobState("all", 2, ("one", "two"), "3", "NODE_FAIL"))
    run.save()
    write_record(run.run.state_json("one"), BenchmarkState("one", Status.OK, ended=2.0))
    told = RecordedProgress()
    assert SlurmRunner().execute((resume_run(run.run, {}), told)) == [Outcome.OK]
    assert [job.benchmarks for job in cluster.submitted] == [("two",)]
    assert [job.id for job in read_header(run.run).jobs] == ["3", "7"]
    assert told.ended in ({}, {"two": Verdict(Outcome.OK)})


def test_nothing_is_begun_beside_a_job_that_still_waits(
    cluster: FakeSlurm, run: RunContext
) -> None:
    run.header.jobs.append(JobState("all", 2, ("one", "two"), "3"))
    cluster.answer = {"3": JobStatus("PENDING", False, "Priority")}
    with pytest.raises(RunDirError, match=r"has not ended \(job 3 is PENDING\)"):
        SlurmRunner().execute((run, RecordedProgress()))
    assert cluster.submitted == []


def test_nor_where_slurm_does_not_say_whether_it_has_ended(
    cluster: FakeSlurm, run: RunContext
) -> None:
    run.header.jobs.append(JobState("all", 2, ("one", "two"), "3"))
    cluster.answer = None
    with pytest.raises(DispatchError, match=r"Slurm does not say whether job 3 of .* has ended"):
        SlurmRunner().execute((run, RecordedProgress()))
    assert (cluster.submitted, run.run.path.exists()) == ([], True)


@pytest.mark.parametrize("seconds", [3, 1000])
def test_a_job_whose_benchmarks_have_ended_is_waited_for(
    cluster: FakeSlurm, run: RunContext, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    """It is about to end; the wait for a job that does not end is limited."""
    run.header.jobs.append(JobState("all", 2, ("one", "two"), "3"))
    cluster.answer = {"3": JobStatus("COMPLETING", False)}
    waited = 0

    def sleep(_seconds: float) -> None:
        nonlocal waited
        waited += 1
        if waited == seconds:
            cluster.answer = {}

    monkeypatch.setattr("milabench_ddp.dispatch.runners.slurm.time.sleep", sleep)
    run.detach = True
    if seconds == 3:
        assert SlurmRunner().execute((run, RecordedProgress())) == [Outcome.OK]
        assert (waited, len(cluster.submitted)) == (3, 2)
    else:
        with pytest.raises(RunDirError, match="job 3 is COMPLETING"):
            SlurmRunner().execute((run, RecordedProgress()))
        assert cluster.submitted == []
