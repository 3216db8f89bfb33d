"""What Slurm's commands print, and what is made of it; the commands are scripts on the PATH."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.dispatch import scheduler
from milabench_ddp.dispatch.scheduler import CANCELLED, LIMIT, PREEMPTED, JobState
from milabench_ddp.events import Outcome

Says = Callable[..., Path]
SHOWS = (
    "JobId=7 JobState={state} Reason={reason} PreemptTime={preempted} "
    "RunTime={run} TimeLimit={limit}"
)


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Says:
    """Lets a command print something, and returns the file with the arguments it was given."""
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
    """Within job 7."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    monkeypatch.delenv("MILABENCH_SIGNAL_DELAY", raising=False)


def test_jobs_in_the_queue_and_jobs_that_left_it(says: Says) -> None:
    says("squeue", "Welcome to the cluster\n7|PENDING|Priority\n8_1|RUNNING|None\n9|RUNNING|None")
    says("sacct", "CANCELLED by 1000")
    assert scheduler.states(["7", "8_1", "6"]) == {
        "7": JobState("PENDING", False, "Priority"),
        "8_1": JobState("RUNNING", False),
        "6": JobState("CANCELLED", True),
    }


def test_a_site_without_accounts(says: Says) -> None:
    says("squeue", "")
    says("sacct", "Slurm accounting storage is disabled", 1)
    says("scontrol", "JobId=6 JobState=FAILED Reason=NonZeroExitCode")
    assert scheduler.states(["6"]) == {"6": JobState("FAILED", True)}


def test_a_controller_that_does_not_answer_ends_no_job(says: Says) -> None:
    says("squeue", "slurm_load_jobs error: Unable to contact slurm controller", 1)
    says("sacct", "COMPLETED")
    assert scheduler.states(["6"]) is None


def test_no_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert scheduler.states(["6"]) is None
    assert not scheduler.cancel(["6"])
    assert scheduler.cancel([])  # nothing to do
    assert not scheduler.requeue("6")


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    ("state", "preempted", "run", "limit", "reason", "cause"),
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
    cause: tuple[Outcome, str],
) -> None:
    shows = SHOWS.format(state=state, preempted=preempted, run=run, limit=limit, reason=reason)
    given = says("scontrol", shows)
    assert scheduler.why_stopped() == cause
    assert given.read_text() == "--oneliner show job 7\n"


@pytest.mark.usefixtures("job")
def test_the_question_is_asked_again_where_its_own_signal_ended_it(says: Says) -> None:
    given = says("scontrol", "JobId=7 JobState=COMPLETING Reason=TimeLimit")
    script = given.with_name("scontrol")
    first, rest = script.read_text().split("\n", 1)
    once = given.with_name("once")
    script.write_text(f"{first}\n[ -e '{once}' ] || {{ touch '{once}'; kill $$; }}\n{rest}")
    assert scheduler.why_stopped() == LIMIT


@pytest.mark.usefixtures("job")
def test_asked_to_stop_and_nobody_says_why(says: Says) -> None:
    says("scontrol", "slurm_load_jobs error: Unable to contact slurm controller", 1)
    assert scheduler.why_stopped() == CANCELLED


def test_the_own_job() -> None:
    assert scheduler.own_id({}) == ""
    assert scheduler.own_id({"SLURM_JOB_ID": "7"}) == "7"
    array = {"SLURM_JOB_ID": "9", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "2"}
    assert scheduler.own_id(array) == "7_2"


def test_what_is_asked_of_slurm(says: Says) -> None:
    cancelled, controlled = says("scancel", ""), says("scontrol", "")
    assert scheduler.cancel(["7", "8_1"])
    assert scheduler.requeue("7")
    assert cancelled.read_text() == "7 8_1\n"
    assert controlled.read_text() == "requeue 7\n"
