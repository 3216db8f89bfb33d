"""Requests for several nodes that cannot be met: exit code 2, one sentence, and no run folder."""

from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands import setup
from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.config.system import System, SystemGpu, SystemNode
from milabench_ddp.errors import SelectionError
from milabench_ddp.machine.detect import synthetic_cluster
from milabench_ddp.machine.devices import Cluster
from milabench_ddp.options.suite import LaunchOptions, RunOptions, SuiteOptions
from tests.support.workplace import GOOD

SUITE = "x: {program: p.py, plan: {method: per_gpu}}\n"
SYSTEM = """
system:
  arch: cpu
  nodes:
  - {name: one, ip: 127.0.0.2, main: true}
  - {name: two, ip: 127.0.0.3}
"""
CPU = ["--device", "cpu", "--gpus", "1"]

CASES = {
    "more nodes than devices": (
        ["s.yaml", "--nodes", "2", "--gpus", "2", "--device", "cuda"],
        "milabench: --device cuda",
    ),
    "a runner that is mistyped": (
        ["s.yaml", *CPU, "--runner", "slrum"],
        "milabench: --runner slrum: no such file, and no shipped profile of that name: "
        "did you mean `slurm`?",
    ),
    "node counts without an axis": (
        ["s.yaml", *CPU, "--nodes", "4,2"],
        "milabench: --nodes 4,2: no benchmark is a matrix over `nodes`: give one number of nodes, "
        "or add `matrix: {nodes: [...]}` and a `job`",
    ),
    "hosts that nobody named": (
        ["s.yaml", *CPU, "--nodes", "2", "--runner", "ssh"],
        "milabench: --runner ssh needs the hosts: give a system.yaml with --system",
    ),
    "more hosts than there are": (
        ["s.yaml", *CPU, "--nodes", "3", "--system", "system.yaml"],
        "milabench: 3 nodes are needed, and the system file has 2: give fewer with --nodes",
    ),
    "more hosts than there are for a sweep's list": (
        ["sweep.yaml", "--system", "system.yaml"],
        "milabench: 4 nodes are needed, and the system file has 2: give fewer with --nodes",
    ),
    "nobody says how many GPUs a node has": (
        ["s.yaml", "--runner", "slurm"],
        "milabench: the number of GPUs of a node is not known, and this host is not one of the "
        "nodes: give --gpus-per-node N, or `gpus_per_node: N` in the runner profile; or give CPU "
        "slots, with `--device cpu --gpus N`",
    ),
    "nobody says how many CPU slots a node has": (
        ["s.yaml", "--runner", "slurm", "--device", "cpu"],
        "milabench: the number of GPUs of a node is not known",
    ),
    "hosts that the system file does not have": (
        ["s.yaml", "--nodes", "two,three[1-2]", "--system", "system.yaml", *CPU],
        "milabench: --nodes three[1-2],two: system.yaml has no three[1-2]",
    ),
    "named nodes of this machine": (
        ["s.yaml", "--nodes", "node[1-2]", *CPU],
        "milabench: --nodes node[1-2]: a list of nodes is for --runner slurm, or for the hosts of "
        "--system; give a number",
    ),
    "a file of nodes that is not there": (
        ["s.yaml", "--runner", "slurm", "--exclude-nodes", "@missing.txt", *CPU],
        "milabench: --exclude-nodes @missing.txt in the command line: cannot be read: "
        "No such file or directory",
    ),
    "jobs that do not divide a node's devices": (
        ["jobs.yaml", "--nodes", "2", "--gpus", "3", "--device", "cpu"],
        "milabench: x: 3 devices of a node do not divide into plan.n = 2 jobs",
    ),
    "a batch that does not divide": (
        ["strong.yaml", "--nodes", "3", *CPU],
        "milabench: x: `scaling: strong` divides --batch-size 32 by 3 nodes, and 3 does not "
        "divide it: choose a multiple",
    ),
}
SWEEP = """
one:
  matrix: {nodes: [2, 1]}
  job: {name: 'one-{nodes}', program: p.py, plan: {method: per_gpu}, num_machines: '{nodes}'}
other:
  matrix: {nodes: [4]}
  job: {name: 'other-{nodes}', program: p.py, plan: {method: per_gpu}, num_machines: '{nodes}'}
"""
FILES = {
    "sweep.yaml": SWEEP,
    "s.yaml": SUITE,
    "p.py": GOOD,
    "system.yaml": SYSTEM,
    "jobs.yaml": "x: {program: p.py, plan: {method: njobs, n: 2}, num_machines: 2}\n",
    "strong.yaml": (
        "x: {program: p.py, plan: {method: njobs, n: 1}, num_machines: 3, scaling: strong, "
        "argv: {--batch-size: 32}}\n"
    ),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return tmp_path


@pytest.mark.parametrize(("words", "message"), CASES.values(), ids=CASES.keys())
def test_what_cannot_be_met(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["run", *words, "--base", str(here / "base")]) == 2
    err = capsys.readouterr().err
    assert err.startswith(message), err
    assert err.count("\n") == 1, err
    assert not (here / "base").exists()


@pytest.mark.parametrize(
    "flag",
    ["--partition=a", "--account=a", "--qos=a", "--timeout=3", "--job-dir=d", "--gpus-per-node=1",
     "--exclude-nodes=a", "--allocation=shared"],
)  # fmt: skip
@pytest.mark.parametrize("more", [[], ["--nodes", "2"], ["--runner", "local"]])
def test_flags_of_a_scheduler_that_is_not_there(
    here: Path, capsys: pytest.CaptureFixture[str], flag: str, more: list[str]
) -> None:
    assert main(["run", "s.yaml", *CPU, *more, flag, "--base", str(here / "base")]) == 2
    name = flag.split("=")[0]
    said = f"milabench: {name} is for a cluster's scheduler: add --runner slurm\n"
    assert capsys.readouterr().err == said
    assert not (here / "base").exists()


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["s.yaml"], "CONFIG"),
        (["--select", "x"], "--select"),
        (["--override", "x.weight=1"], "--override"),
        (["--preset", "small"], "--preset"),
        (["--repeat", "2"], "--repeat"),
        (["--nodes", "2"], "--nodes"),
        (["--gpus", "2"], "--gpus"),
        (["--grace", "0"], "--grace"),
        (["--runner", "slurm"], "--runner"),
        (["--gpus-per-node", "2"], "--gpus-per-node"),
    ],
)
def test_resume_with_what_the_run_has_decided(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], word: str
) -> None:
    assert main(["run", *words, "--resume", str(here)]) == 2
    said = f"milabench: --resume cannot change the plan of a run: leave out {word}\n"
    assert capsys.readouterr().err == said


def test_resume_of_what_is_no_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--resume", "nowhere"]) == 2
    assert capsys.readouterr().err == f"milabench: --resume: no run folder {here}/nowhere\n"
    assert main(["run", "--resume", str(here)]) == 2
    assert capsys.readouterr().err.startswith(f"milabench: cannot read {here}/plan.json: No such")


def test_no_configuration_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    said = "no configuration: name one of `milabench list`, for example `milabench run ddp`"
    assert capsys.readouterr().err == f"milabench: {said}\n"


def test_resume_takes_a_run_to_another_queue(here: Path) -> None:
    """Only where there is a scheduler; the rest of the plan stays as it is."""
    options = RunOptions(resume="r", settings={"partition": "b", "timeout": 9})
    setup.check_settings(options, RunnerProfile("slurm"))
    with pytest.raises(SelectionError, match="--partition is for a cluster's scheduler"):
        setup.check_settings(options, RunnerProfile("local"))


TWO_HOSTS = System(
    arch="cpu", nodes=(SystemNode("one", "a"), SystemNode("two", "b")), gpu=SystemGpu(count=3)
)


@pytest.mark.parametrize(
    ("nodes", "system", "profile", "count"),
    [
        ((4, 2, 1), TWO_HOSTS, RunnerProfile("slurm", nodes=8), 4),
        ((), TWO_HOSTS, RunnerProfile("slurm", nodes=8), 8),
        ((), TWO_HOSTS, RunnerProfile("slurm"), 2),
        ((), TWO_HOSTS, None, 2),
        ((), System(), None, 1),
    ],
)
def test_the_number_of_nodes(
    nodes: tuple[int, ...], system: System, profile: RunnerProfile | None, count: int
) -> None:
    assert setup.node_count(SuiteOptions(nodes=nodes), system, profile) == count


@pytest.mark.parametrize(
    ("words", "profile", "count"),
    [
        ({}, None, 4),
        ({}, RunnerProfile("slurm", nodes=8), 8),
        ({}, RunnerProfile("slurm", nodes=2), 4),
        ({"select": ("one-*",)}, None, 2),
        ({"exclude": ("other-4", "one-2")}, None, 1),
        ({"override": ("one.matrix.nodes=[3]",), "select": ("one-*",)}, None, 3),
        ({"override": ("other-4.enabled=false",)}, None, 2),
        ({"nodes": (1,)}, None, 1),
    ],
)
def test_a_sweep_asks_for_the_nodes_that_it_lists(
    words: dict[str, tuple[str, ...]], profile: RunnerProfile | None, count: int
) -> None:
    """Each entry has a list of its own; only those that run count."""
    options = SuiteOptions(config="sweep.yaml", **words)  # type: ignore[arg-type]
    assert setup.node_count(options, System(), profile) == count


def test_every_command_sees_the_listed_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "sweep.yaml", *CPU]) == 0
    assert "3 of 3 benchmarks would run" in capsys.readouterr().out
    assert main(["dry", "sweep.yaml", "--runner", "slurm", *CPU]) == 0
    out = capsys.readouterr().out
    assert "benchmarks: 3" in out
    assert "#SBATCH --nodes=4" in out
    suite = setup.load_local_suite(SuiteOptions(config="sweep.yaml", device="cpu", gpus=1))
    assert len(suite.benchmarks) == 3


@pytest.mark.parametrize("own", ["", "afterok:1"])
def test_one_at_a_time_slurm_runs_one_job_of_the_name(here: Path, own: str) -> None:
    (here / "r.yaml").write_text(f"kind: slurm\noptions: {{dependency: '{own}'}}\n" * bool(own))
    runner = "r.yaml" if own else "slurm"
    options = RunOptions(config="s.yaml", runner=runner, one_at_a_time=True)
    profile = setup.resolve_runner(options, System())
    assert profile is not None
    assert profile.options["dependency"] == (f"{own},singleton" if own else "singleton")
    assert profile.array_parallelism == 1


def test_the_command_line_wins_over_the_system_file() -> None:
    asked, plain = SuiteOptions(gpus=2, device="cuda"), SuiteOptions()
    found = []
    for options, system in ((asked, TWO_HOSTS), (plain, TWO_HOSTS), (plain, System())):
        request = setup.node_request(options, system)
        found.append((request.devices, request.kind))
    assert found == [(2, "cuda"), (3, "cpu"), (None, None)]


def shape(cluster: Cluster) -> tuple[str, int, int]:
    return cluster.arch, len(cluster.nodes), len(cluster.nodes[0].devices)


def test_one_node_is_this_host_where_it_has_the_devices() -> None:
    cluster = setup.resolve_cluster(SuiteOptions(device="cpu", gpus=1), System())
    assert (shape(cluster), cluster.is_synthetic) == (("cpu", 1, 1), False)
    cluster = setup.resolve_cluster(SuiteOptions(device="cuda", gpus=64), System())
    assert (shape(cluster), cluster.is_synthetic) == (("cuda", 1, 64), True)


def test_several_nodes_are_synthetic_or_parts_of_this_host() -> None:
    options = SuiteOptions(device="cpu", gpus=1, nodes=(2,))
    cluster = setup.resolve_cluster(options, System())
    assert (shape(cluster), cluster.is_synthetic) == (("cpu", 2, 1), True)
    cluster = setup.resolve_cluster(options, System(), RunnerProfile("local"))
    assert (shape(cluster), cluster.is_synthetic) == (("cpu", 2, 1), False)
    slurm = RunnerProfile("slurm", nodes=4, gpus_per_node=8)
    cluster = setup.resolve_cluster(SuiteOptions(), System(), slurm)
    assert (shape(cluster), cluster.is_synthetic) == (("cuda", 4, 8), True)


@pytest.mark.parametrize(
    ("cpus", "words", "workers"),
    [("32", [], 4), ("128", [], 16), ("32", ["--runner", "r.yaml"], 12), ("", [], 8)],
)
def test_workers_are_for_the_cpus_of_the_nodes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cpus: str,
    words: list[str],
    workers: int,
) -> None:
    """Of the node that Slurm lists, or as many as a job requests; not of the host that submits."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text(GOOD)
    (tmp_path / "s.yaml").write_text(SUITE.replace("}}", "}, argv: ['{n_worker}']}"))
    (tmp_path / "r.yaml").write_text("kind: slurm\ncpus_per_task: 96\n")
    sinfo = tmp_path / "sinfo"
    sinfo.write_text(f"#!/bin/sh\necho 'train* {cpus} gpu:8'\n")
    sinfo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    asked = ["dry", "s.yaml", "--gpus-per-node", "8", *(words or ["--runner", "slurm"])]
    assert main(asked) == 0
    assert f"p.py {workers} &" in capsys.readouterr().out


def test_a_list_of_nodes_is_slurms(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "bad.txt").write_text("node2\nnode[7-8]\n")
    (here / "good.txt").write_text("")
    words = ["dry", "s.yaml", "--runner", "slurm", *CPU, "--nodes", "node[1-4]"]
    assert main([*words, "--exclude-nodes", "@bad.txt"]) == 0
    out = capsys.readouterr().out
    for option in ("nodes=3", "nodelist='node[1,3-4]'", "exclude='node[2,7-8]'"):
        assert f"#SBATCH --{option}\n" in out
    assert main([*words, "--exclude-nodes", "@good.txt"]) == 0  # all nodes passed
    assert "--exclude" not in capsys.readouterr().out.partition("\n")[2]


def test_a_node_that_is_excluded_is_not_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "failing.txt").write_text("node2\nnode7\n")
    words = ["dry", "s.yaml", "--runner", "slurm", *CPU, "--nodes", "node[1-3]", "--exclude-nodes"]
    assert main([*words, "@failing.txt"]) == 0
    out = capsys.readouterr().out
    for option in ("nodes=2", "nodelist='node[1,3]'", "exclude=node2,node7"):
        assert f"#SBATCH --{option}\n" in out.replace("'node[2,7]'", "node2,node7")
    assert main([*words, "node[1-3]"]) == 2
    assert "--exclude-nodes node[1-3]: it leaves no node" in capsys.readouterr().err
    assert main([*words, "node[1-"]) == 2
    assert "node[1- in the command line: is not a list of nodes such as" in capsys.readouterr().err


def test_a_list_of_nodes_selects_hosts(here: Path) -> None:
    options = RunOptions(config="s.yaml", nodes=("two",), system="system.yaml")
    system = setup.read_system_of(options)
    assert [host.name for host in system.nodes] == ["two"]
    profile = setup.resolve_runner(options, system)
    assert profile is not None
    assert profile.kind == "ssh"
    assert setup.node_count(options, system, profile) == 1


def test_a_list_of_nodes_is_a_count_where_a_suite_asks_for_one() -> None:
    options = SuiteOptions(config="sweep.yaml", nodes=("a", "b", "c"))
    assert setup.node_count(options, System()) == 3
    assert setup.request(options, System()).nodes == (3,)


@pytest.mark.parametrize(
    ("arch", "own", "asked"), [("cuda", None, 4), ("cpu", None, None), ("cuda", 8, 8)]
)
def test_a_job_asks_for_the_gpus_that_are_to_be_used(
    tmp_path: Path, arch: str, own: int | None, asked: int | None
) -> None:
    config = tmp_path / "s.yaml"
    config.write_text(SUITE)
    options, profile = LaunchOptions(config=str(config)), RunnerProfile("slurm", gpus_per_node=own)
    cluster = synthetic_cluster(arch, 2, 4)
    found = setup.loaded(options, System(), cluster, profile, without_programs=True)[2]
    assert found is not None
    assert found.gpus_per_node == asked
