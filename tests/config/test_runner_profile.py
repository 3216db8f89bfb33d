from dataclasses import replace
from pathlib import Path

import pytest

from milabench_ddp.codec import decode, encode
from milabench_ddp.config.container import Container
from milabench_ddp.config.runner_profile import (
    SETTINGS,
    RunnerProfile,
    find_profile,
    read_profile,
)
from milabench_ddp.config.shipped import shipped_files
from milabench_ddp.errors import ConfigError
from tests.support.configuration import write

FULL = """\
kind: slurm
partition: train
account: us
qos: high
timeout: 30
nodes: 4
gpus_per_node: 8
cpus_per_task: 96
exclude: bad1,bad2
constraint: ib
setup:
- source /etc/profile
- module load cuda
environment:
  NCCL_DEBUG: WARN
  NCCL_IB_DISABLE: 0
options:
  reservation: mine
  exclusive: true
  hold: ~
  requeue: false
  nice: 100
srun_options: {mpi: none, exact: true}
command_prefix: [numactl, --interleave=all, a b]
container: {kind: enroot, image: torch, mounts: [/data], options: [--rw]}
python: /shared/bin/python
array_parallelism: 2
signal_delay: 90
allocation: separate
launcher: tasks
job_dir: /shared/jobs
network_interface: ib0
rendezvous_ports: 20000-20999
"""


def test_every_key(here: Path) -> None:
    assert read_profile(write("r.yaml", FULL)) == RunnerProfile(
        kind="slurm",
        path="r.yaml",
        partition="train",
        account="us",
        qos="high",
        timeout=30,
        nodes=4,
        gpus_per_node=8,
        cpus_per_task=96,
        exclude="bad[1-2]",
        constraint="ib",
        setup=("source /etc/profile", "module load cuda"),
        environment={
            "NCCL_SOCKET_IFNAME": "=ib0",
            "GLOO_SOCKET_IFNAME": "ib0",
            "NCCL_DEBUG": "WARN",
            "NCCL_IB_DISABLE": "0",
        },
        options={"reservation": "mine", "exclusive": True, "hold": True, "nice": "100"},
        srun_options=("--mpi=none", "--exact"),
        command_prefix=("numactl", "--interleave=all", "a b"),
        container=Container("enroot", "torch", ("/data",), ("--rw",)),
        python="/shared/bin/python",
        array_parallelism=2,
        signal_delay=90,
        allocation="separate",
        launcher="tasks",
        job_dir="/shared/jobs",
        network_interface="ib0",
        rendezvous_ports=(20_000, 20_999),
    )


def test_null_is_not_said(here: Path) -> None:
    path = write("r.yaml", "kind: slurm\nenvironment: {A: ~, B: 1}\ncontainer: ~\ncluster: local")
    profile = read_profile(path)
    assert (profile.environment, profile.container) == ({"B": "1"}, None)


def test_a_profile_survives_json(here: Path) -> None:
    profile = read_profile(write("r.yaml", FULL))
    assert decode(encode(profile), RunnerProfile) == profile


def test_the_environment_wins_over_the_interface_and_a_port_is_a_range(here: Path) -> None:
    text = "kind: slurm\nnetwork_interface: ib0\nenvironment: {NCCL_SOCKET_IFNAME: ib}\n"
    profile = read_profile(write("r.yaml", f"{text}rendezvous_ports: 29500"))
    assert profile.environment == {"NCCL_SOCKET_IFNAME": "ib", "GLOO_SOCKET_IFNAME": "ib0"}
    assert profile.rendezvous_ports == (29_500, 29_500)


def test_a_flag_is_checked_as_the_file_is() -> None:
    assert SETTINGS["timeout"].from_flag("9") == 9
    assert SETTINGS["partition"].from_flag("9") == "9"
    said = "`--timeout` in the command line: expected an integer, got the text `soon`"
    with pytest.raises(ConfigError, match=said):
        SETTINGS["timeout"].from_flag("soon")


def test_what_it_does_not_say_is_the_clusters_choice(here: Path) -> None:
    path = write("r.yaml", "kind: slurm\npartition: ~\n")
    assert read_profile(path) == replace(RunnerProfile("slurm"), path="r.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ~", "r.yaml: has no `kind`"),
        ("nodes: 1", "r.yaml: has no `kind`: it is one of local, slurm, ssh"),
        ("kind: pbs", "wrong value for `kind` in r.yaml:1: expected"),
        ("kind: slurm\ntimout: 3", "unknown key `timout` in r.yaml:2: did you mean `timeout`?"),
        ("kind: slurm\n\ntimeout: 0", "wrong value for `timeout` in r.yaml:3: expected"),
        ("kind: slurm\ntimeout: '1:00:00'", "wrong value for `timeout` in r.yaml:2"),
        ("kind: slurm\nnodes: 0", "wrong value for `nodes` in r.yaml:2"),
        ("kind: slurm\ngpus_per_node: -1", "wrong value for `gpus_per_node` in r.yaml:2"),
        ("kind: slurm\ncpus_per_task: 1.5", "wrong value for `cpus_per_task` in r.yaml:2"),
        ("kind: slurm\narray_parallelism: 0", "wrong value for `array_parallelism` in r.yaml:2"),
        ("kind: slurm\nsignal_delay: soon", "wrong value for `signal_delay` in r.yaml:2"),
        ("kind: slurm\nallocation: both", "wrong value for `allocation` in r.yaml:2"),
        ("kind: slurm\nlauncher: mpi", "wrong value for `launcher` in r.yaml:2"),
        ("kind: slurm\ncluster: lsf", "wrong value for `cluster` in r.yaml:2"),
        ("kind: slurm\npartition: [a]", "wrong value for `partition` in r.yaml:2"),
        ("kind: slurm\nexclude: 3", "wrong value for `exclude` in r.yaml:2"),
        ("kind: slurm\nsetup: one", "wrong value for `setup` in r.yaml:2: expected a list"),
        (
            "kind: slurm\nsetup:\n- {a: b}",
            "wrong value for `setup[0]` in r.yaml:3: expected",
        ),
        (
            "kind: slurm\nenvironment: [A]",
            "wrong value for `environment` in r.yaml:2: expected a m",
        ),
        (
            "kind: slurm\nenvironment:\n  A: [1]",
            "wrong value for `environment.A` in r.yaml:3: expected a single value",
        ),
        (
            "kind: slurm\ngres: false\nexclusive: false",
            "r.yaml: `gres: false` needs `exclusive: true`: Slurm could give the same GPUs to",
        ),
        *[
            (f"kind: slurm\nrendezvous_ports: {ports}", "wrong value for `rendezvous_ports` in r.y")
            for ports in ("80", "20999-20000", "20000-70000", "any", "[20000]", "20000-")
        ],
        ("kind: slurm\noptions: 3", "wrong value for `options` in r.yaml:2"),
        ("kind: slurm\noptions: {a b: ~}", "`a b` in r.yaml:2 cannot name an option of sbatch"),
        ("kind: slurm\nsrun_options: {1a: x}", "`1a` in r.yaml:2 cannot name an option of"),
        ("kind: ssh\ncommand_prefix: a b", "wrong value for `command_prefix` in r.yaml:2: exp"),
        (
            "kind: local\nsrun_options: {mpi: none}",
            "r.yaml: `srun_options` and pyxis need `kind: slurm`",
        ),
        ("kind: slurm\ncluster: debug\npython: p", "r.yaml: `srun_options` and pyxis need"),
    ],
)
def test_a_bad_value_is_named_with_its_line(here: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_profile(write("r.yaml", text + "\n"))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", shipped_files("runners"))
def test_what_is_shipped_is_right(name: str) -> None:
    runner = read_profile(find_profile(name))
    assert runner.kind in ("local", "slurm", "ssh")
    assert find_profile(f"{name}.yaml") == find_profile(name)


def test_all_kinds_are_shipped() -> None:
    assert {"local", "slurm", "ssh"} <= set(shipped_files("runners"))


def test_a_path_wins_over_a_name(here: Path) -> None:
    assert find_profile(str(write("slurm", "kind: ssh"))) == Path("slurm")


def test_no_such_profile(here: Path) -> None:
    with pytest.raises(ConfigError, match=r"profile of that name: did you mean `slurm`\?"):
        find_profile("slrum")
    shipped = ", ".join(shipped_files("runners"))
    with pytest.raises(ConfigError) as caught:
        find_profile("my/own.yaml")
    assert str(caught.value).endswith(f"of that name; shipped: {shipped}")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('partition: "a\\ntouch x"', "expected one line of text"),
        ('account: "a\\e[2J"', "expected one line of text"),
        ('options: {comment: "a\\n#SBATCH --wrap=x"}', "expected one line of text"),
        ('options: {"x\\ntouch y": 1}', "cannot name an option of sbatch"),
        ("environment: {'A=1;touch x;B': 1}", "cannot name a variable of a shell"),
        ('environment: {A: "\\0"}', "holds a null character"),
        ('setup: ["\\0"]', "holds a null character"),
    ],
)
def test_what_would_become_another_line_or_command_is_refused(
    here: Path, line: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        read_profile(write("r.yaml", f"kind: slurm\n{line}\n"))
