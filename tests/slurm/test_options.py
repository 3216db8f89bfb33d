"""Options of a runner profile, as Slurm has them of a job that waits."""

import pytest

from .sweeps import ended

pytestmark = pytest.mark.slurm
OPTIONS = "{contiguous: true, requeue: true, hold: ~, spread_job: false, nice: 7, comment: a b}"
WANTED = {"Contiguous=1", "Requeue=1", "Reason=JobHeldUser", "Comment=a b"}


@pytest.mark.parametrize("verb", ["run", "dry"])
def test_slurm_has_each_option(cluster, make_sweep, tmp_path, verb):
    sweep = make_sweep(
        tmp_path, {"quick": [2]}, options=OPTIONS, exclusive="false", gpus_per_node=0
    )
    if verb == "run":
        assert ended(sweep.begin("--detach"))[0] == 0
        (job,) = sweep.jobs()
    else:
        words = ["dry", sweep.config, "--runner", sweep.profile, "--device", "cpu", "--gpus", "1"]
        (tmp_path / "jobs.sh").write_text(ended(sweep.milabench(*words))[1])
        job = cluster.run("bash", tmp_path / "jobs.sh").split()[-1]
    told = cluster.run("scontrol", "show", "job", job)
    priority = cluster.run("squeue", "-h", "-o", "%y", "-j", job).strip()
    assert {line for line in WANTED if line not in told} == set(), told
    assert "SpreadJob" not in told
    assert priority == "7"
