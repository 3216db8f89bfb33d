"""The jobs of a run are ended, and what was measured stays."""

import subprocess
from pathlib import Path

import pytest

from tests.support.wait import PATIENCE, wait_for
from tests.support.workplace import EMIT, Suite, Workplace

QUICK = EMIT + "for step in range(20): rate(100.0 + step % 3)"
WORDS = ("--gpus", "1", "--device", "cpu", "--name", "mine")


@pytest.fixture
def profile(at: Workplace) -> Path:
    return at.write("here.yaml", "kind: slurm\ncluster: local\n")


def test_a_job_is_cancelled(at: Workplace, suite: Suite, profile: Path):
    config = suite(x=EMIT + "rate(1.0); time.sleep(600)")
    words = ("run", config, "--runner", str(profile), *WORDS, "--detach")
    nowhere = subprocess.DEVNULL  # the job inherits it, and would hold a pipe open
    assert at.start(*words, stdout=nowhere, stderr=nowhere).wait(PATIENCE) == 0
    data = at.run() / "x.D0.data"
    wait_for(lambda: data.exists() and '"rate"' in data.read_text())
    done = at.milabench("cancel", str(at.run()))
    assert (done.code, "cancelled: " in done.err) == (0, True)
    done = at.milabench("watch", str(at.run()))
    assert done.code == 130
    assert "stopped  x: its job was cancelled" in done.out
    done = at.milabench("cancel", str(at.run()))
    assert "cancelled: nothing, all have ended" in done.err


def test_a_run_without_jobs_is_not_cancelled(at: Workplace, suite: Suite):
    at.milabench("run", suite(x=QUICK), *WORDS)
    done = at.milabench("cancel", str(at.run()))
    assert (done.code, "stop its command, with Ctrl-C" in done.err) == (2, True)
