"""How the output of Slurm's commands is read; the commands are scripts on the PATH."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch import slurm_queue
from milabench_ddp.dispatch.slurm_queue import CANCELLED, LIMIT, PREEMPTED, JobStatus
from milabench_ddp.events import Verdict

Says = Callable[..., Path]
SHOWS = (
    "JobId=7 JobState={state} Reason={reason} PreemptTime={preempted} "
    "RunTime={run} TimeLimit={limit}"
)


def test_jobs_in_the_queue_and_jobs_that_left_it(says: Says) -> None:
    says("squeue", "Welcome to the cluster\n7|PENDING|0:00||Priority\n"
         "8_1|RUNNING|1-02:03:04|n[1-2]|None\n9|RUNNING|0:05|n3|None")  # fmt: skip
    says("sacct", "CANCELLED by 1000|0:0|n4")
    assert slurm_queue.statuses(["7", "8_1", "6"]) == {
        "7": JobStatus("PENDING", False, "Priority"),
        "8_1": JobStatus("RUNNING", False),
        "6": JobStatus("CANCELLED", True),
    }


def test_a_site_without_accounts(says: Says) -> None:
    says("squeue", "")
    says("sacct", "Slurm accounting storage is disabled", 1)
    says("scontrol", "JobId=6 JobState=FAILED Reason=NonZeroExitCode")
    assert slurm_queue.statuses(["6"]) == {"6": JobStatus("FAILED", True)}


@pytest.mark.parametrize(
    ("ran", "answers", "accounts", "status"),
    [
        ("0:12", "", "COMPLETED", JobStatus("COMPLETED", True)),
        ("0:12", "completing", "COMPLETED", JobStatus("COMPLETING", False)),
        ("0:00", "", "COMPLETED", JobStatus("COMPLETING", False)),  # it starts again
        ("0:12", "", "RUNNING", JobStatus("RUNNING", False)),  # they are late
        ("0:12", "", "", JobStatus("COMPLETING", False)),
    ],
)
def test_a_job_has_ended_though_one_of_its_nodes_does_not_answer(
    says: Says, ran: str, answers: str, accounts: str, status: JobStatus
) -> None:
    says("squeue", f"7|COMPLETING|{ran}|n[2-3]|None")
    asked = says("sinfo", answers)
    says("sacct", f"{accounts}|0:0|n[2-3]" if accounts else "")
    says("scontrol", "JobId=7 JobState=COMPLETING")
    assert slurm_queue.statuses(["7"]) == {"7": status}
    assert not asked.exists() or "--responding --nodes=n[2-3]" in asked.read_text()


def test_a_controller_that_does_not_answer_ends_no_job(says: Says) -> None:
    says("squeue", "slurm_load_jobs error: Unable to contact slurm controller", 1)
    says("sacct", "COMPLETED|0:0|n1")
    assert slurm_queue.statuses(["6"]) is None


def test_no_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm_queue.statuses(["6"]) is None
    assert not slurm_queue.cancel(["6"])
    assert slurm_queue.cancel([])  # nothing to do
    assert not slurm_queue.requeue("6")


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
    assert slurm_queue.why_stopped() == verdict
    assert given.read_text() == "--oneliner show job 7\n"


@pytest.mark.usefixtures("job")
def test_the_question_is_asked_again_where_its_own_signal_ended_it(says: Says) -> None:
    given = says("scontrol", "JobId=7 JobState=COMPLETING Reason=TimeLimit")
    script = given.with_name("scontrol")
    first, rest = script.read_text().split("\n", 1)
    once = given.with_name("once")
    script.write_text(f"{first}\n[ -e '{once}' ] || {{ touch '{once}'; kill $$; }}\n{rest}")
    assert slurm_queue.why_stopped() == LIMIT


@pytest.mark.usefixtures("job")
def test_asked_to_stop_and_nobody_says_why(says: Says) -> None:
    says("scontrol", "slurm_load_jobs error: Unable to contact slurm controller", 1)
    assert slurm_queue.why_stopped() == CANCELLED


def test_what_is_asked_of_slurm(says: Says) -> None:
    cancelled, controlled = says("scancel", ""), says("scontrol", "")
    assert slurm_queue.cancel(["7", "8_1"])
    assert slurm_queue.requeue("7")
    assert cancelled.read_text() == "7 8_1\n"
    assert controlled.read_text() == "requeue 7\n"


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
    assert slurm_queue.statuses(["6"]) == {"6": JobStatus("FAILED", True, detail=detail)}


def test_a_job_that_only_the_accounts_know(says: Says) -> None:
    says("squeue", "")
    says("scontrol", "", 1)
    for word, detail in (("FAILED", "exit status 127 on node3"), ("CANCELLED", "")):
        says("sacct", f"{word}|127:0|node[3-4]")
        assert slurm_queue.statuses(["6"]) == {"6": JobStatus(word, True, detail=detail)}


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_job_whose_daemon_is_gone_is_cancelled_at_its_end(
    says: Says, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    given = says("scancel", "")
    with slurm_queue.ended_by_slurm():
        if is_gone:  # the batch script has another parent
            monkeypatch.setattr("os.getppid", os.getpid)
    assert given.exists() == is_gone
    assert not is_gone or given.read_text() == "7\n"


@pytest.mark.parametrize("state", ["PENDING", "COMPLETING"])
def test_a_waiting_job_asks_for_fewer_nodes_and_tasks(says: Says, state: str) -> None:
    asked = says("scontrol", f"JobState={state}")
    assert slurm_queue.resize("7_2", 3, RunnerProfile("slurm"))
    assert asked.read_text().splitlines()[1:] == ["update JobId=7_2 NumNodes=3 NumTasks=3"]


def test_one_that_is_bound_to_more_nodes_by_name_excludes_the_others(says: Says) -> None:
    asked = says("scontrol", "n1\nn2")
    says("sinfo", "n1\nn2\nn3")
    profile = RunnerProfile("slurm", options={"nodelist": "n[1-2]"}, exclude="n2")
    assert slurm_queue.resize("7", 1, profile)
    update = "update JobId=7 NumNodes=1 NumTasks=1 ReqNodeList= ExcNodeList=n2,n"
    assert update in asked.read_text()


def test_a_job_that_runs_keeps_the_nodes_that_it_uses(says: Says) -> None:
    asked = says("scontrol", "JobState=RUNNING")
    assert not slurm_queue.resize("7", 1, RunnerProfile("slurm"))
    assert "update" not in asked.read_text()
