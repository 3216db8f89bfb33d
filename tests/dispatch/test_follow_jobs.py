"""Jobs that are followed to their end, or until Ctrl-C."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.dispatch import follow
from milabench_ddp.dispatch.follow import follow_jobs, watch_run
from milabench_ddp.dispatch.slurm_queue import JobStatus
from milabench_ddp.events import Outcome, Status, Verdict
from milabench_ddp.results.read_state import read_header
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, JobState, RunHeader
from tests.support.progress import RecordedProgress
from tests.support.run_headers import header


class OneJob:
    """A scheduler with job 7, which ends once cancelled; a question can trigger Ctrl-C."""

    def __init__(self, run: RunDir, ctrl_c: int) -> None:
        self._run, self._ctrl_c = run, ctrl_c
        self.cancelled: list[str] = []
        self.asked = 0

    def statuses(self, _ids: Sequence[str]) -> dict[str, JobStatus]:
        self.asked += 1
        if self.asked <= self._ctrl_c:
            os.kill(os.getpid(), signal.SIGINT)
        elif not self.cancelled:
            write_record(self._run.state_json("a"), BenchmarkState("a", Status.OK, ended=2.0))
        return {"7": JobStatus("CANCELLED" if self.cancelled else "RUNNING", bool(self.cancelled))}

    def cancel(self, ids: Sequence[str]) -> bool:
        self.cancelled += ids
        return True


@pytest.fixture
def waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunHeader:
    """The header of a run whose benchmark ``a`` is in job 7."""
    monkeypatch.setattr(follow, "LOOK", 0.0)
    monkeypatch.setattr(follow, "ASK", 0.0)
    found = header("a")
    found.jobs.append(JobState("all", 1, ("a",), id="7"))
    write_record(RunDir(tmp_path).run_json, found)
    return found


def test_jobs_to_their_end(tmp_path: Path, waiting: RunHeader) -> None:
    run, told = RunDir(tmp_path), RecordedProgress()
    job = OneJob(run, ctrl_c=0)
    assert follow_jobs(run, waiting, told, job, cancels=True) is Outcome.OK
    assert (read_header(run).outcome, job.cancelled) == (Outcome.OK, [])


@pytest.mark.parametrize("cancels", [True, False])
def test_a_ctrl_c_cancels_the_jobs_or_only_ends_the_watching(
    tmp_path: Path, waiting: RunHeader, cancels: bool
) -> None:
    run, told = RunDir(tmp_path), RecordedProgress()
    job = OneJob(run, ctrl_c=1)
    assert follow_jobs(run, waiting, told, job, cancels=cancels) is Outcome.CANCELLED
    if cancels:
        assert job.cancelled == ["7"]
        assert "cancelling the jobs" in told.messages
        assert read_header(run).outcome is Outcome.CANCELLED
        assert told.ended == {"a": Verdict(Outcome.CANCELLED, "its job was cancelled")}
    else:
        assert job.cancelled == []
        assert (
            told.messages[-1]
            == f"no longer watched; the run goes on: `milabench watch {tmp_path}` follows it"
        )
        assert read_header(run).outcome is None


def test_a_run_without_jobs_is_watched_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = RunDir(tmp_path), RecordedProgress()
    found = header("a")
    found.outcome = Outcome.FAILED
    write_record(run.run_json, found)
    write_record(run.state_json("a"), BenchmarkState("a", Status.FAILED, "no", ended=2.0))
    assert watch_run(run, found, told) is Outcome.FAILED
