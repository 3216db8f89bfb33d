"""The variables that a launch has where its caller sets no other."""

from pathlib import Path

import pytest

from benchmarks.common import group
from milabench_ddp.plan.planner import SETUP_TIMEOUT, STEP_TIMEOUT, defaults, plan_launches
from tests.support.launches import SITE, benchmark, cluster, njobs

RUN = Path("/base/runs/one")


def test_caches_are_in_the_folder_of_the_benchmark():
    found = defaults(benchmark("gpt"), "cuda", cluster().nodes, RUN)
    assert found["TORCHINDUCTOR_CACHE_DIR"] == "/base/runs/one/gpt/cache/inductor"
    assert found["TRITON_CACHE_DIR"] == "/base/runs/one/gpt/cache/triton"
    assert SETUP_TIMEOUT not in found  # its processes do not wait for each other


def test_a_probe_finds_what_its_benchmark_compiled():
    found = defaults(benchmark("gpt/probe3", plan=njobs(1)), "cuda", cluster().nodes, RUN)
    assert found["TORCHINDUCTOR_CACHE_DIR"] == "/base/runs/one/gpt/cache/inductor"
    recorder = found["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"]
    assert recorder == "/base/runs/one/gpt/probe3/flight_recorder.rank"


@pytest.mark.parametrize(
    ("gpus", "cpus", "threads"), [(2, 16, "8"), (8, 8, "1"), (8, 4, "1"), (1, 192, "32")]
)
def test_the_ranks_of_a_node_share_its_cores_to_compile(gpus, cpus, threads):
    nodes = cluster(gpus=gpus, nodes=2, cpus=cpus).nodes
    found = defaults(benchmark(), "cuda", nodes, RUN)
    assert found["TORCHINDUCTOR_COMPILE_THREADS"] == threads


@pytest.mark.parametrize(
    ("max_duration", "setup", "step"),
    [(10, "5", "5"), (120, "60", "60"), (600, "300", "100"), (1800, "900", "300")],
)
def test_a_hang_ends_before_the_benchmark_does(max_duration, setup, step):
    job = benchmark(plan=njobs(1), max_duration=float(max_duration))
    for arch in ("cuda", "cpu"):
        found = defaults(job, arch, cluster(arch=arch).nodes, RUN)
        assert (found[SETUP_TIMEOUT], found[STEP_TIMEOUT]) == (setup, step)
        assert float(step) <= float(setup) < max_duration


@pytest.mark.parametrize(("arch", "recorded"), [("cuda", True), ("rocm", True), ("cpu", False)])
def test_the_flight_recorder_is_on_and_its_dump_is_kept(arch, recorded):
    found = defaults(benchmark("gpt", plan=njobs(1)), arch, cluster(arch=arch).nodes, RUN)
    names = ("FR_BUFFER_SIZE", "NCCL_DUMP_ON_TIMEOUT", "NCCL_DEBUG_INFO_TEMP_FILE")
    values = [found.get(f"TORCH_{name}") for name in names]
    kept = "/base/runs/one/gpt/flight_recorder.rank"
    assert values == (["2000", "1", kept] if recorded else [None] * 3)


def test_the_programs_read_these_names():
    assert (group.SETUP_TIMEOUT, group.STEP_TIMEOUT) == (SETUP_TIMEOUT, STEP_TIMEOUT)


def test_the_caller_and_the_configuration_win():
    job = benchmark(plan=njobs(1), env={STEP_TIMEOUT: "7"})
    (planned,) = plan_launches(job, cluster(), SITE, run=RUN)
    called = planned.called_with({"TRITON_CACHE_DIR": "/mine"})
    (process,) = called.processes
    assert "TRITON_CACHE_DIR" not in process.env
    assert process.env["TORCHINDUCTOR_CACHE_DIR"] == "/base/runs/one/b/cache/inductor"
    assert process.env[STEP_TIMEOUT] == "7"
    assert process.env["OMP_NUM_THREADS"] == planned.processes[0].env["OMP_NUM_THREADS"]
    assert not called.defaults
