"""The process of an agent: how it ended, and the last lines that it printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.dispatch.agent_process import (
    AgentLog,
    AgentProcess,
    last_lines,
    main_line,
    slurm_error,
)


def whole(path: Path) -> AgentLog:
    """A log that an agent has written to its end."""
    log = AgentLog(path)
    log.start = 0
    log.is_whole.set()
    return log


def test_only_the_lines_of_this_process_count(tmp_path: Path) -> None:
    log = tmp_path / "n1.log"
    log.write_text("of an earlier attempt\n")
    own = AgentLog(log)
    own.is_whole.set()
    text = "import sys; print('one\\n\\ntwo', file=sys.stderr); sys.exit(3)"
    with log.open("ab") as err, subprocess.Popen([sys.executable, "-c", text], stderr=err) as popen:
        process = AgentProcess(popen, own)
        assert process.exit_status(20.0) == 3
        assert process.last_lines() == ("one", "two")


ABORTED = [
    "srun: error: _server_read: fd 11 error reading header: Connection reset by peer",
    "srun: error: Aborting, io error and missing step on node 1",
    "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.",
    *["slurmstepd: error: *** STEP 1.0 ON n0 CANCELLED AT 2026-11-27T03:44:44 ***"] * 5,
    "srun: error: Timed out waiting for job step to complete",
]


def test_the_node_for_which_slurm_has_ended_a_step_is_named(tmp_path: Path) -> None:
    log = tmp_path / "n0.log"
    log.write_text("\n".join(ABORTED))
    process = AgentProcess(None, AgentLog(tmp_path / "other"), ("n0", "n1"))
    assert process.why_lost() == ("is gone: its connection broke", "")
    process = AgentProcess(None, whole(log), ("n0", "n1"))
    assert process.why_lost()[0] == "has lost its agent: Slurm has ended its step, because of n1"
    process.told = 137  # it was killed before
    assert process.why_lost()[0].startswith("has lost its agent: killed by SIGKILL: srun: error: T")


def test_one_that_runs_on_has_no_exit_status(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as popen:
        process = AgentProcess(popen, AgentLog(tmp_path / "log"))
        assert process.exit_status(0) is None
        assert process.last_lines() == ()
        popen.kill()


def test_a_long_log_has_a_few_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"{k}\n" for k in range(100_000)))
    assert last_lines(log) == ("99995", "99996", "99997", "99998", "99999")


OVER = "slurmstepd: error: Detected 1 oom_kill event in StepId=3.0."


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ((), ""),
        (("a", " b "), "b"),
        (("bash: python: not found", "srun: error: node3: task 0: Exited with exit code 127"),
         "bash: python: not found"),
        (("srun: error: Unable to create step",), "srun: error: Unable to create step"),
        (("raise error", "milabench_ddp.errors.DispatchError: no room: x"), "no room: x"),
        (("ValueError: milabench_ddp.errors.x: y",), "ValueError: milabench_ddp.errors.x: y"),
        ((OVER, "Killed", "srun: error: n1: task 0: Killed"), OVER),
    ],
)  # fmt: skip
def test_the_line_that_says_why(lines: tuple[str, ...], line: str) -> None:
    assert main_line(lines) == line


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (("srun: cluster configuration lacks support for cpu binding", "warning"), ""),
        (("srun: error: n1: task 0: Killed",), "srun: error: n1: task 0: Killed"),
        ((OVER, "srun: error: n1: task 0: Killed"), OVER),
    ],
)
def test_why_slurm_ended_a_process(lines: tuple[str, ...], error: str) -> None:
    assert slurm_error(lines) == error


def test_a_log_that_became_a_fifo_has_no_lines(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "n0.log")
    assert last_lines(tmp_path / "n0.log") == ()
