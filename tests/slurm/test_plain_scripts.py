"""The tutorial's flow: torchrun on each node of a job, with bash alone."""

import json
import sys

import pytest

pytestmark = pytest.mark.slurm

PROGRAM = ["benchmarks/elastic_ddp/main.py", "--device=cpu", "--steps=20", "--warmup=2"]


@pytest.fixture
def metrics(cluster, tmp_path):
    """A file in which the program leaves its metrics, wherever it runs; a function reads it."""
    path = tmp_path / "metrics"
    path.touch()
    cluster.env |= {
        "PYTHON": sys.executable,
        "MILABENCH_METRICS": str(path),
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",  # of the login node: Slurm gives each job its own
    }
    if cluster.has_network:
        cluster.env["GLOO_SOCKET_IFNAME"] = "eth0"
    return lambda: [json.loads(line) for line in path.read_text().splitlines()]


def assert_two_by_two_ranks_trained(lines):
    """Each rank's step times were gathered at rank 0, after 20 steps of all of them."""
    times = [line["step_times"] for line in lines if "step_times" in line]
    assert sorted(entry["rank"] for entry in times) == [0, 1, 2, 3]
    assert {len(entry["ms"]) for entry in times} == {20}
    assert any("rate" in line and "warmup" not in line for line in lines)


def test_srun_of_the_torchrun_script_trains_on_two_nodes(cluster, metrics):
    cluster.srun("--nodes=2", "--gres=gpu:2", "runners/torchrun_script.sh", *PROGRAM)
    assert_two_by_two_ranks_trained(metrics())


def test_sbatch_of_the_srun_script_trains_on_two_nodes(cluster, metrics, tmp_path):
    output = tmp_path / "output"
    job = cluster.sbatch(f"--output={output}", "runners/srun.sh", *PROGRAM)
    assert cluster.await_end(job) == "COMPLETED", output.read_text()
    assert_two_by_two_ranks_trained(metrics())


def test_a_job_without_gpus_is_told_how_to_ask_for_some(cluster, metrics):
    with pytest.raises(AssertionError, match="no GPU: ask for some with --gres=gpu:N"):
        cluster.srun("--nodes=1", "runners/torchrun_script.sh", *PROGRAM)


def test_a_crash_of_a_rank_fails_the_job(cluster, metrics, tmp_path):
    crash = tmp_path / "crash.py"
    crash.write_text(
        "import os, sys, time\nif os.environ['RANK'] == '3': sys.exit(7)\ntime.sleep(300)"
    )
    job = cluster.sbatch(f"--output={tmp_path}/output", "runners/srun.sh", crash)
    assert cluster.await_end(job) == "FAILED"
