"""Jobs of submitit without a cluster: its local and its debug executor."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.workplace import EMIT, Suite, Workplace, row

QUICK = EMIT + "for step in range(20): rate(100.0 + step % 3)"
WORDS = ("--gpus", "1", "--device", "cpu", "--name", "mine")


@pytest.fixture
def profile(at: Workplace) -> Path:
    return at.write("here.yaml", "kind: slurm\ncluster: local\n")


def test_a_job_that_is_a_process_of_this_host(at: Workplace, suite: Suite, profile: Path):
    config = suite(good=QUICK, bad=EMIT + "sys.exit(3)")
    done = at.milabench("run", config, "--runner", str(profile), *WORDS)
    assert done.code == 1
    assert row(done.out, "good")[1:3] == ["0", "1"]
    assert "failed   bad: exit status 3" in done.out
    assert ": COMPLETED" in done.err or "bad: failed" in done.err
    again = at.milabench("run", "--resume", str(at.run()))
    assert (again.code, "nothing to run, all 2 have a result" in again.err) == (1, True)
    assert at.milabench("watch", str(at.run())).code == 1


def test_slurm_does_not_answer(
    at: Workplace, suite: Suite, profile: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing is said to have ended, and nothing is begun beside what may go on."""
    at.milabench("run", suite(x=QUICK), "--runner", str(profile), *WORDS)
    plan = at.run() / "plan.json"
    plan.write_text(plan.read_text().replace('"cluster": "local"', '"cluster": "slurm"'))
    path = at.run() / "run.json"
    state = json.loads(path.read_text()) | {"outcome": None, "ended": None}
    state["jobs"][0]["state"] = ""
    path.write_text(json.dumps(state))
    (at.run() / "x" / "state.json").unlink()
    squeue = at.write("squeue", "#!/bin/sh\nexit 1\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(at.folder), prepend=os.pathsep)
    before = sorted(at.run().rglob("*"))
    for words, said in (
        (("cancel", str(at.run())), "Slurm does not answer"),
        (("run", "--resume", str(at.run())), "Slurm does not say whether job"),
    ):
        done = at.milabench(*words)
        assert (done.code, said in done.err) == (2, True), done.err
    assert sorted(at.run().rglob("*")) == before


def test_a_job_in_this_very_process(at: Workplace, suite: Suite):
    at.write("debug.yaml", "kind: slurm\ncluster: debug\n")
    done = at.milabench("run", suite(good=QUICK), "--runner", "debug.yaml", *WORDS)
    assert done.code == 0
    assert row(done.out, "good")[1:3] == ["0", "1"]


def test_it_has_one_node(at: Workplace, suite: Suite, profile: Path):
    done = at.milabench("run", suite(x=QUICK), "--runner", str(profile), "--nodes", "2", *WORDS)
    assert done.code == 2
    assert "milabench: cluster: local has one node: use --runner local" in done.err
    assert not at.run().exists()


def test_there_is_no_slurm(at: Workplace, suite: Suite, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    done = at.milabench("run", suite(x=QUICK), "--runner", "slurm", *WORDS)
    assert done.code == 2
    assert "milabench: there is no Slurm here (no `sbatch` on the PATH)" in done.err
    assert not at.run().exists()


@pytest.fixture
def job() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that looks like one of submitit's."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "submitit"]) as it:
        yield it
        it.kill()


def test_a_run_whose_job_goes_on_is_not_resumed(
    at: Workplace, suite: Suite, profile: Path, job: "subprocess.Popen[bytes]"
):
    at.milabench("run", suite(x=QUICK), "--runner", str(profile), *WORDS)
    path = at.run() / "run.json"
    state = json.loads(path.read_text())
    state |= {"outcome": None, "ended": None}
    state["jobs"][0] |= {"id": str(job.pid), "state": ""}
    path.write_text(json.dumps(state))
    (at.run() / "x" / "state.json").unlink()
    before = sorted(at.run().rglob("*"))
    done = at.milabench("run", "--resume", str(at.run()))
    assert done.code == 2
    assert f"has not ended (job {job.pid} is RUNNING)" in done.err
    assert sorted(at.run().rglob("*")) == before
