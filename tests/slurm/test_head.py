"""Who looks on may go and come back: the jobs do not need it."""

import os
import signal

import pytest

from .sweeps import ended

pytestmark = pytest.mark.slurm


@pytest.fixture
def sweep(cluster, make_sweep, tmp_path):
    """One that waits for its gate on two nodes; another program is done, a third waits."""
    return make_sweep(tmp_path, {"quick": [2, 1], "held": [2]})


def await_held(sweep):
    sweep.await_states(quick_2="ok", held_2="running", quick_1="waiting")
    sweep.await_starts("held-2", 2)


def test_a_command_that_was_killed_is_not_missed(sweep):
    command = sweep.begin()
    await_held(sweep)
    os.kill(command.pid, signal.SIGKILL)
    ended(command)
    watch = sweep.milabench("watch", sweep.run)
    sweep.open()
    code, out, err = ended(watch)
    assert code == 0, err
    assert "quick-1: ok" in err
    assert "sweep: ok" in out
    assert sweep.starts() == {"quick-2": 2, "held-2": 2, "quick-1": 1}


def test_what_ended_while_nobody_looked_on_is_resumed(sweep):
    command = sweep.begin()
    await_held(sweep)
    os.kill(command.pid, signal.SIGKILL)
    ended(command)
    sweep.cluster.run("scancel", *sweep.jobs())
    sweep.await_states(held_2="cancelled", quick_1="cancelled")
    sweep.resume()
    assert sweep.starts() == {"quick-2": 2, "held-2": 4, "quick-1": 1}


def test_a_detached_run_is_watched_and_cancelled(sweep):
    code, out, err = ended(sweep.begin("--detach"))
    assert code == 0, err
    assert "still going on" in out
    await_held(sweep)
    code, _, err = ended(sweep.milabench("cancel", sweep.run))
    assert (code, err) == (0, f"cancelled: {sweep.jobs()[0]}\n")
    cancelled = {"quick-2": "ok", "held-2": "cancelled", "quick-1": "cancelled"}
    assert sweep.states() == cancelled  # though nobody has followed it
    assert "waiting" not in sweep.table()
    code, out, err = ended(sweep.milabench("watch", sweep.run))
    assert code == 130, err
    assert sweep.states() == cancelled
    code, _, err = ended(sweep.milabench("cancel", sweep.run))
    assert (code, err) == (0, "cancelled: nothing, all have ended\n")
    sweep.resume()
    assert sweep.starts() == {"quick-2": 2, "held-2": 4, "quick-1": 1}


def test_an_interrupted_command_cancels_its_jobs_also_where_there_are_no_accounts(sweep):
    programs = sweep.folder / "bin"
    programs.mkdir()
    (programs / "sacct").write_text("#!/bin/sh\necho 'accounting is disabled' >&2\nexit 1\n")
    (programs / "sacct").chmod(0o755)
    command = sweep.begin(PATH=f"{programs}:{os.environ['PATH']}")
    await_held(sweep)
    os.kill(command.pid, signal.SIGINT)
    code, _, err = ended(command)
    assert code == 130, err
    assert "cancelling the jobs" in err
    assert sweep.states() == {"quick-2": "ok", "held-2": "cancelled", "quick-1": "cancelled"}
    assert not sweep.cluster.run("squeue", "-h")
    sweep.resume()
    assert sweep.starts() == {"quick-2": 2, "held-2": 4, "quick-1": 1}
