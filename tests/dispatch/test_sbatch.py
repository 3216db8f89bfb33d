import subprocess
from pathlib import Path

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.jobs import Job, jobs_of
from milabench_ddp.dispatch.sbatch import flags, render_jobs
from milabench_ddp.dispatch.slurm import parameters
from milabench_ddp.plan.planner import plan_launches
from tests.golden import check_golden
from tests.support.launches import SITE, benchmark, cluster

RUNNER = RunnerProfile(
    kind="slurm",
    partition="train",
    account="mine",
    timeout=30,
    gpus_per_node=8,
    setup=("module load cuda",),
    environment={"NCCL_SOCKET_IFNAME": "en s"},
    options={"exclusive": "user"},
)


def jobs_text(allocation: str) -> str:
    points = [benchmark("big", num_machines=2), benchmark("small", num_machines=1)]
    launches = {
        point.name: plan_launches(point, cluster(gpus=1, nodes=2), SITE) for point in points
    }
    wanted = jobs_of(points, 2, allocation)
    return render_jobs(RUNNER, wanted, launches, SITE.python, ["made by a test"])


@pytest.mark.parametrize("allocation", ["shared", "separate"])
def test_golden(allocation: str):
    text = jobs_text(allocation)
    check_golden(f"dispatch/sbatch_{allocation}.sh", text)
    done = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=True)
    assert done.stderr == ""


def test_bash_hands_each_job_to_sbatch(tmp_path: Path):
    sbatch = tmp_path / "sbatch"
    sbatch.write_text(f'#!/bin/sh\ncat > {tmp_path}/job.$$\necho "Submitted batch job $$"\n')
    sbatch.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["bash"], input=jobs_text("separate"), text=True, env=env, check=True)
    scripts = [path.read_text() for path in tmp_path.glob("job.*")]
    assert sorted(s.count("#SBATCH --nodes=2") for s in scripts) == [0, 1]
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
        assert script.startswith("#!/usr/bin/env bash\n#SBATCH ")


def test_the_scheduler_is_asked_for_what_run_asks_for():
    submitit = pytest.importorskip("submitit.slurm.slurm")
    told = parameters(RUNNER, 3)
    slurm = {key.removeprefix("slurm_"): value for key, value in told.items()}
    slurm["time"], slurm["ntasks_per_node"] = slurm.pop("timeout_min"), slurm.pop("tasks_per_node")
    text = submitit._make_sbatch_string("x", folder="/f", job_name="j", **slurm)
    theirs = {line.removeprefix("#SBATCH --") for line in text.splitlines() if "#SBATCH" in line}
    ours = set(flags(RUNNER, Job("j", 3, ("a",))))
    assert ours - theirs == set()
    # Where their logs go, and that the job outlives a node, which needs somebody who leads it.
    beside = {line.partition("=")[0] for line in theirs - ours}
    assert beside == {"error", "output", "open-mode", "wckey", "no-kill"}


def test_setup_and_environment_come_before_the_nodes():
    setup = parameters(RUNNER, 1)["slurm_setup"]
    assert setup[:2] == ["module load cuda", "export NCCL_SOCKET_IFNAME='en s'"]
