import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.errors import PlanError
from milabench_ddp.machine.devices import Cluster, Device, Node
from milabench_ddp.plan.launch import Launch
from milabench_ddp.plan.planner import plan_launches
from tests.support.launches import SITE, benchmark, cluster, njobs, of_each_node


def only(launches: list[Launch]) -> Launch:
    (launch,) = launches
    return launch


def torchrun_options(argv: tuple[str, ...]) -> list[str]:
    start = argv.index("torch.distributed.run") + 1
    return [word for word in argv[start:] if word.startswith("--")]


def test_per_gpu_is_one_process_for_each_device():
    launch = only(plan_launches(benchmark(argv=("--m", "8")), cluster(gpus=2), SITE))
    assert [p.name for p in launch.processes] == ["b.D0", "b.D1"]
    assert [p.env["CUDA_VISIBLE_DEVICES"] for p in launch.processes] == ["0", "1"]
    assert launch.processes[0].argv == (
        "/usr/bin/python3",
        "-u",
        "/programs/main.py",
        "--m",
        "8",
    )
    assert launch.barrier


def test_njobs_is_one_torchrun_for_each_share():
    launch = only(plan_launches(benchmark(plan=njobs(2)), cluster(gpus=4), SITE))
    assert [p.name for p in launch.processes] == ["b.0", "b.1"]
    assert [p.env["CUDA_VISIBLE_DEVICES"] for p in launch.processes] == ["0,1", "2,3"]
    assert torchrun_options(launch.processes[1].argv) == [
        "--nnodes=1",
        "--nproc-per-node=2",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=localhost:0",
        "--local-addr=localhost",
        "--rdzv-id=b.1",
    ]


def test_one_device_runs_the_same_code_as_two():
    one = only(plan_launches(benchmark(plan=njobs(1)), cluster(gpus=1), SITE)).processes[0].argv
    two = only(plan_launches(benchmark(plan=njobs(1)), cluster(gpus=2), SITE)).processes[0].argv
    assert [w for w in two if w not in one] == ["--nproc-per-node=2"]
    assert [w for w in one if w not in two] == ["--nproc-per-node=1"]


def test_threads_are_shared_out():
    launch = only(plan_launches(benchmark(), cluster(gpus=4, cpus=16), SITE))
    assert {p.env["OMP_NUM_THREADS"] for p in launch.processes} == {"4"}
    launch = only(plan_launches(benchmark(), cluster(gpus=4, cpus=2), SITE))
    assert {p.env["OMP_NUM_THREADS"] for p in launch.processes} == {"1"}


def test_no_port_is_ever_fixed():
    for nodes in (1, 2):
        for launch in plan_launches(benchmark(plan=njobs(1)), cluster(nodes=nodes), SITE):
            for process in launch.processes:
                assert not [key for key in process.env if key.startswith("MASTER_")]


def test_several_nodes_are_one_job():
    launch = only(plan_launches(benchmark(plan=njobs(1)), cluster(gpus=2, nodes=2), SITE))
    assert [p.name for p in launch.processes] == ["b.0.node0", "b.0.node1.nolog"]
    assert [p.node for p in launch.processes] == [0, 1]
    for process in launch.processes:
        assert torchrun_options(process.argv)[0] == "--nnodes=2"
        assert not [w for w in process.argv if w.startswith("--rdzv-endpoint")]


@pytest.mark.parametrize("launcher", ["torchrun", "tasks"])
def test_each_node_has_torchruns_of_its_own(launcher):
    site = replace(SITE, launcher=launcher)
    several = cluster(gpus=4, nodes=3)
    launch = only(plan_launches(benchmark(plan=of_each_node(2)), several, site))
    assert [p.name for p in launch.processes] == [
        f"b.{job}.node{node}" for node in range(3) for job in range(2)
    ]
    alone = only(plan_launches(benchmark(plan=njobs(2)), cluster(gpus=4), SITE))
    for process in launch.processes:
        assert process.job is None  # it meets no other node's
        like = alone.processes[int(process.tag[1])]
        assert torchrun_options(process.argv) == torchrun_options(like.argv)
        assert process.env == like.env
    strong = benchmark(plan=of_each_node(), scaling="strong", argv=("--batch-size", "3"))
    assert "3" in only(plan_launches(strong, several, SITE)).processes[2].argv


def test_per_gpu_uses_all_nodes_and_all_of_them_report():
    launch = only(plan_launches(benchmark(), cluster(gpus=1, nodes=2), SITE))
    assert [p.name for p in launch.processes] == ["b.D0.node0", "b.D0.node1"]


def test_devices_that_do_not_divide_are_an_error():
    with pytest.raises(PlanError, match=r"3 devices of a node do not divide into plan\.n = 2 jobs"):
        plan_launches(benchmark(plan=njobs(2)), cluster(gpus=3), SITE)
    with pytest.raises(PlanError, match="1 devices"):
        plan_launches(benchmark(plan=njobs(2)), cluster(gpus=1), SITE)


def test_cpu_slots_hide_the_gpus_and_keep_to_their_cores():
    slots = (Device(0, "0", cpus=(0, 1)), Device(1, "1", cpus=(2,)))
    host = Cluster("cpu", (Node("here", slots, 3),))
    per_gpu = only(plan_launches(benchmark(), host, SITE)).processes
    assert [p.argv[:3] for p in per_gpu] == [
        ("taskset", "--cpu-list", "0-1"),
        ("taskset", "--cpu-list", "2"),
    ]
    assert {p.env["CUDA_VISIBLE_DEVICES"] for p in per_gpu} == {""}
    (job,) = only(plan_launches(benchmark(plan=njobs(1)), host, SITE)).processes
    assert job.argv[:3] == ("taskset", "--cpu-list", "0-2")


@pytest.mark.parametrize(
    ("arch", "device"), [("cuda", "cuda"), ("rocm", "cuda"), ("xpu", "xpu"), ("cpu", "cpu")]
)
@pytest.mark.parametrize("launcher", ["torchrun", "tasks"])
def test_every_process_is_told_what_to_measure(arch, device, launcher):
    site = replace(SITE, launcher=launcher)
    host = Cluster(arch, (Node("here", tuple(Device(i, str(i)) for i in range(2)), 8),) * 2)
    for plan in (benchmark().plan, njobs(1), njobs(2)):
        for process in only(plan_launches(benchmark(plan=plan), host, site)).processes:
            assert process.env["MILABENCH_DEVICE"] == device


def test_a_device_goes_by_the_name_its_library_takes():
    host = Cluster("cuda", (Node("here", (Device(3, "GPU-abc"),), 8),))
    (process,) = only(plan_launches(benchmark(), host, SITE)).processes
    assert (process.name, process.env["CUDA_VISIBLE_DEVICES"]) == ("b.D3", "GPU-abc")


def test_the_benchmark_has_the_last_word_on_its_environment():
    b = benchmark(env={"OMP_NUM_THREADS": "7"})
    assert only(plan_launches(b, cluster(), SITE)).processes[0].env["OMP_NUM_THREADS"] == "7"


def test_tasks_are_the_ranks_themselves():
    site = replace(SITE, launcher="tasks")
    launch = only(plan_launches(benchmark(plan=njobs(1)), cluster(gpus=2, nodes=2), site))
    assert [p.name for p in launch.processes] == [
        "b.0.D0.node0", "b.0.D1.node0.nolog", "b.0.D0.node1.nolog", "b.0.D1.node1.nolog",
    ]  # fmt: skip
    assert all(p.argv == ("/usr/bin/python3", "-u", "/programs/main.py") for p in launch.processes)
    places = ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
    assert [tuple(p.env[key] for key in places) for p in launch.processes] == [
        ("0", "0", "0", "4", "2"),
        ("1", "1", "0", "4", "2"),
        ("2", "0", "1", "4", "2"),
        ("3", "1", "1", "4", "2"),
    ]
    # As under torchrun, each sees all devices of its job and takes that of its local rank.
    assert {p.env["CUDA_VISIBLE_DEVICES"] for p in launch.processes} == {"0,1"}
    assert [p.devices for p in launch.processes] == [(0, 1), (), (0, 1), ()]
    assert {p.job for p in launch.processes} == {0}
    assert all(p.is_rank for p in launch.processes)
    assert not launch.barrier


def test_jobs_over_nodes_meet_in_different_places():
    launch = only(plan_launches(benchmark(plan=njobs(2)), cluster(gpus=2, nodes=2), SITE))
    assert [(p.node, p.job) for p in launch.processes] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert launch.nodes == 2
    alone = only(plan_launches(benchmark(plan=njobs(2)), cluster(gpus=2), SITE))
    assert [p.job for p in alone.processes] == [None, None]  # torchrun finds a port by itself


NEAR = (tuple(range(24)), tuple(range(24, 48)))  # the cores of two sockets
BIND = 'cores=({}); exec taskset --cpu-list "${{cores[LOCAL_RANK]}}" "$@"'


def sockets(*socket_of: int, arch: str = "cuda") -> Cluster:
    """A node whose GPUs are next to the cores of these sockets."""
    gpus = tuple(Device(i, str(i), "GPU", cpus=NEAR[each]) for i, each in enumerate(socket_of))
    return Cluster(arch, (Node("here", gpus, 48),))


def commands(where: Cluster, jobs: int = 0, **site: object) -> list[tuple[str, ...]]:
    plan = {"plan": njobs(jobs)} if jobs else {}
    launch = only(plan_launches(benchmark(**plan), where, replace(SITE, **site)))
    return [process.argv for process in launch.processes]


def test_the_process_of_each_gpu_is_bound_to_the_cores_next_to_it() -> None:
    found = commands(sockets(0, 0, 1, 1))
    assert [argv[:3] for argv in found] == [
        ("taskset", "--cpu-list", cores) for cores in ("0-23", "0-23", "24-47", "24-47")
    ]
    tasks = commands(sockets(1, 0), jobs=1, launcher="tasks")
    assert [argv[2] for argv in tasks] == ["24-47", "0-23"]


def test_each_rank_of_a_torchrun_is_bound_to_the_cores_next_to_its_gpu() -> None:
    (argv,) = commands(sockets(0, 1, 1), jobs=1)
    assert argv[:3] == ("/usr/bin/python3", "-m", "torch.distributed.run")
    assert argv[-8:] == (
        "--no-python", "bash", "-c", BIND.format("0-23 24-47 24-47"), "bind",
        "/usr/bin/python3", "-u", "/programs/main.py",
    )  # fmt: skip


def test_a_torchrun_whose_gpus_are_next_to_the_same_cores_is_bound_as_a_whole() -> None:
    low, high = commands(sockets(0, 0, 1, 1), jobs=2)
    assert low[:4] == ("taskset", "--cpu-list", "0-23", "/usr/bin/python3")
    assert high[:3] == ("taskset", "--cpu-list", "24-47")
    assert "--no-python" not in low


@pytest.mark.parametrize("jobs", [0, 1])
def test_nothing_is_bound_on_request_or_where_cores_are_not_known(jobs: int) -> None:
    unbound = commands(cluster(gpus=2), jobs)
    assert commands(sockets(0, 1), jobs, numa_binding=False) == unbound
    assert "taskset" not in str(unbound)


def test_a_torchrun_one_of_whose_gpus_has_no_near_cores_is_not_bound() -> None:
    some = sockets(0, 1).nodes[0]
    far = replace(some, devices=(some.devices[0], replace(some.devices[1], cpus=())))
    assert commands(Cluster("cuda", (far,)), 1) == commands(cluster(gpus=2), 1)


def test_each_node_has_its_own_cores() -> None:
    """Its agent tells them, so they need not be those of the first node."""
    first, other = sockets(0, 1).nodes[0], sockets(1, 0).nodes[0]
    both = Cluster("cuda", (first, replace(other, name="there")))
    here, there = commands(both, jobs=1)
    assert BIND.format("0-23 24-47") in here
    assert BIND.format("24-47 0-23") in there


@pytest.mark.parametrize("jobs", [0, 1])
@pytest.mark.parametrize(
    ("where", "bound", "unbound"), [((0, 0, 1, 1), 12, 12), ((1, 1), 12, 24), ((0, 1, 1), 12, 16)]
)
def test_ranks_have_no_more_threads_than_the_cores_that_they_are_bound_to(
    jobs: int, where: tuple[int, ...], bound: int, unbound: int
) -> None:
    """So GPUs of one socket alone, as of ``--gpus``, do not oversubscribe its cores."""
    plan = {"plan": njobs(jobs)} if jobs else {}
    for is_bound, threads in ((True, bound), (False, unbound)):
        site = replace(SITE, numa_binding=is_bound)
        launch = only(plan_launches(benchmark(**plan), sockets(*where), site))
        assert int(launch.processes[-1].env["OMP_NUM_THREADS"]) == threads


def test_cpu_slots_are_bound_in_any_case() -> None:
    where = sockets(0, 1, arch="cpu")
    assert commands(where, numa_binding=False) == commands(where)
    assert commands(where, jobs=1, numa_binding=False)[0][2] == "0-47"


def test_a_bound_rank_runs_on_its_own_cores(tmp_path: Path) -> None:
    """By the words that torchrun would execute, with arguments that a shell could change."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        pytest.skip("one core")
    cores = (usable[0], usable[-1])
    program = tmp_path / "main.py"
    program.write_text("import os, sys\nprint(os.sched_getaffinity(0), sys.argv[1:])")
    gpus = tuple(Device(i, str(i), cpus=(core,)) for i, core in enumerate((*cores, cores[0])))
    where = Cluster("cuda", (Node("here", gpus, 2),))
    own = benchmark(program=program, argv=("a b", "$HOME", "*"), plan=njobs(1))
    (torchrun,) = only(plan_launches(own, where, replace(SITE, python=sys.executable))).processes
    words = torchrun.argv[torchrun.argv.index("bash") :]
    for rank, device in enumerate(gpus):
        environ = {**os.environ, "LOCAL_RANK": str(rank)}
        said = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
        assert said.stdout == f"{set(device.cpus)} {list(own.argv)}\n"
