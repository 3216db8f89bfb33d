"""How the output of Slurm's commands is read; the commands are scripts on the PATH."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.dispatch import slurm_jobs
from milabench_ddp.dispatch.slurm_jobs import CANCELLED, LIMIT, PREEMPTED, JobStatus
from milabench_ddp.errors import DispatchError
from milabench_ddp.events import Verdict

Says = Callable[..., Path]
SHOWS = (
    "JobId=7 JobState={state} Reason={reason} PreemptTime={preempted} "
    "RunTime={run} TimeLimit={limit}"
)


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Makes a command print a text; returns the file with the arguments of its calls."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(command: str, text: str, code: int = 0) -> Path:
        given, script = tmp_path / f"{command}.argv", tmp_path / command
        script.write_text(
            f"#!/bin/sh\necho \"$@\" >> '{given}'\ncat <<'END'\n{text}\nEND\nexit {code}\n"
        )
        script.chmod(0o755)
        return given

    return make


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment of job 7."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    monkeypatch.delenv("MILABENCH_SIGNAL_DELAY", raising=False)


def test_jobs_in_the_queue_and_jobs_that_left_it(says: Says) -> None:
    says("squeue", "Welcome to the cluster\n7|PENDING|Priority\n8_1|RUNNING|None\n9|RUNNING|None")
    says("sacct", "CANCELLED by 1000")
    assert slurm_jobs.statuses(["7", "8_1", "6"]) == {
        "7": JobStatus("PENDING", False, "Priority"),
        "8_1": JobStatus("RUNNING", False),
        "6": JobStatus("CANCELLED", True),
    }


def test_a_site_without_accounts(says: Says) -> None:
    says("squeue", "")
    says("sacct", "Slurm accounting storage is disabled", 1)
    says("scontrol", "JobId=6 JobState=FAILED Reason=NonZeroExitCode")
    assert slurm_jobs.statuses(["6"]) == {"6": JobStatus("FAILED", True)}


def test_a_controller_that_does_not_answer_ends_no_job(says: Says) -> None:
    says("squeue", "slurm_load_jobs error: Unable to contact slurm controller", 1)
    says("sacct", "COMPLETED")
    assert slurm_jobs.statuses(["6"]) is None


def test_no_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm_jobs.statuses(["6"]) is None
    assert not slurm_jobs.cancel(["6"])
    assert slurm_jobs.cancel([])  # nothing to do
    assert not slurm_jobs.requeue("6")


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    ("state", "preempted", "run", "limit", "reason", "verdict"),
    [
        ("RUNNING", "2026-11-21T10:00:00", "00:00:10", "01:00:00", "None", PREEMPTED),
        ("RUNNING", "None", "00:59:00", "01:00:00", "None", LIMIT),
        ("RUNNING", "None", "1-23:58:00", "2-00:00:00", "None", LIMIT),
        ("RUNNING", "None", "00:10:00", "01:00:00", "None", CANCELLED),
        ("RUNNING", "None", "00:10:00", "UNLIMITED", "None", CANCELLED),
        ("COMPLETING", "None", "00:10:00", "01:00:00", "None", CANCELLED),
        ("COMPLETING", "None", "01:00:20", "01:00:00", "TimeLimit", LIMIT),
        ("TIMEOUT", "None", "01:00:05", "01:00:00", "None", LIMIT),
        ("PREEMPTED", "None", "00:00:05", "01:00:00", "None", PREEMPTED),
    ],
)
def test_why_it_is_asked_to_stop(
    says: Says,
    state: str,
    preempted: str,
    run: str,
    limit: str,
    reason: str,
    verdict: Verdict,
) -> None:
    shows = SHOWS.format(state=state, preempted=preempted, run=run, limit=limit, reason=reason)
    given = says("scontrol", shows)
    assert slurm_jobs.why_stopped() == verdict
    assert given.read_text() == "--oneliner show job 7\n"


@pytest.mark.usefixtures("job")
def test_the_question_is_asked_again_where_its_own_signal_ended_it(says: Says) -> None:
    given = says("scontrol", "JobId=7 JobState=COMPLETING Reason=TimeLimit")
    script = given.with_name("scontrol")
    first, rest = script.read_text().split("\n", 1)
    once = given.with_name("once")
    script.write_text(f"{first}\n[ -e '{once}' ] || {{ touch '{once}'; kill $$; }}\n{rest}")
    assert slurm_jobs.why_stopped() == LIMIT


@pytest.mark.usefixtures("job")
def test_asked_to_stop_and_nobody_says_why(says: Says) -> None:
    says("scontrol", "slurm_load_jobs error: Unable to contact slurm controller", 1)
    assert slurm_jobs.why_stopped() == CANCELLED


def test_the_own_job() -> None:
    assert slurm_jobs.own_id({}) == ""
    assert slurm_jobs.own_id({"SLURM_JOB_ID": "7"}) == "7"
    array = {"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}
    assert slurm_jobs.own_id(array) == "7_2"


def test_what_is_asked_of_slurm(says: Says) -> None:
    cancelled, controlled = says("scancel", ""), says("scontrol", "")
    assert slurm_jobs.cancel(["7", "8_1"])
    assert slurm_jobs.requeue("7")
    assert cancelled.read_text() == "7 8_1\n"
    assert controlled.read_text() == "requeue 7\n"


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    ("restarts", "asked"),
    [("0", "scontrol requeue 7"), ("2", "scontrol requeue 7"), ("3", "scancel 7")],
)
def test_a_job_that_has_started_again_too_often_is_ended(
    says: Says, monkeypatch: pytest.MonkeyPatch, restarts: str, asked: str
) -> None:
    given = {"scancel": says("scancel", ""), "scontrol": says("scontrol", "")}
    monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
    slurm_jobs.start_again()
    found = [f"{name} {path.read_text()}" for name, path in given.items() if path.exists()]
    assert found == [f"{asked}\n"]


def test_outside_of_a_job_nothing_is_asked(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    given = [says("scancel", ""), says("scontrol", "")]
    slurm_jobs.start_again()
    assert not any(path.exists() for path in given)


def test_the_nodes_of_the_job(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[01-02,7]")
    given = says("scontrol", "n01\nn02\nn7")
    assert slurm_jobs.host_names() == ["n01", "n02", "n7"]
    assert given.read_text() == "show hostnames n[01-02,7]\n"


def test_nodes_that_slurm_does_not_name(says: Says) -> None:
    says("scontrol", "slurm_load_jobs error", 1)
    with pytest.raises(DispatchError, match="does not name the nodes"):
        slurm_jobs.host_names()


@pytest.mark.parametrize(
    ("record", "detail"),
    [
        ("ExitCode=127:0 NodeList=node[1-3] BatchHost=node1", "exit status 127 on node1"),
        ("ExitCode=0:9 BatchHost=node1", "killed by signal 9 on node1"),
        ("ExitCode=0:53 BatchHost=node1", "node1 could not open the files of its job"),
        ("ExitCode=0:0", ""),
    ],
)
def test_how_a_job_failed(says: Says, record: str, detail: str) -> None:
    says("squeue", "")
    says("sacct", "", 1)
    says("scontrol", f"JobId=6 JobState=FAILED {record}")
    assert slurm_jobs.statuses(["6"]) == {"6": JobStatus("FAILED", True, detail=detail)}


def test_a_job_that_only_the_accounts_know(says: Says) -> None:
    says("squeue", "")
    says("scontrol", "", 1)
    says("sacct", "127:0|node[3-4]")
    assert slurm_jobs._how_failed("6", "FAILED") == "exit status 127 on node3"
    assert slurm_jobs._how_failed("6", "CANCELLED") == ""


@pytest.mark.usefixtures("job")
def test_nodes_that_are_not_needed_any_more_are_given_back(says: Says) -> None:
    asked = says("scontrol", "node3\nnode4\nnode7")
    assert slurm_jobs.keep_nodes(3) == ["node3", "node4", "node7"]
    assert "update" not in asked.read_text()
    assert slurm_jobs.keep_nodes(2) == ["node3", "node4"]
    assert asked.read_text().splitlines()[-1] == "update JobId=7 NumNodes=2"


def test_a_waiting_job_asks_for_fewer_nodes_and_tasks(says: Says) -> None:
    asked = says("scontrol", "")
    assert slurm_jobs.resize("7_2", 3)
    assert asked.read_text() == "update JobId=7_2 NumNodes=3 NumTasks=3\n"


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_job_whose_daemon_is_gone_is_cancelled_at_its_end(
    says: Says, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    given = says("scancel", "")
    with slurm_jobs.ended_by_slurm():
        if is_gone:  # the batch script has another parent
            monkeypatch.setattr("os.getppid", os.getpid)
    assert given.exists() == is_gone
    assert not is_gone or given.read_text() == "7\n"
