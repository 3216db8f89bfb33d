"""Which checks of GPUs a plan needs, and what they are told."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.schema import Benchmark
from milabench_ddp.dispatch.gpu_preflight import check_gpus, uses_torch
from milabench_ddp.errors import MachineError
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.machine.host import other_process
from milabench_ddp.plan.command_line import Site
from tests.support.dispatch import plan
from tests.support.launches import SITE, benchmark, njobs

NODE = Node("n0", (Device(0, "0"), Device(3, "3")), 16)
SHIPPED = Path(__file__).parents[2] / "benchmarks"


class Checks:
    """A check that records what it is asked, and says what the test wants."""

    def __init__(self) -> None:
        self.commands: list[Sequence[str]] = []
        self.environments: list[Mapping[str, str]] = []
        self.warnings: list[str] = []
        self.problem = ""

    def __call__(self, command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
        self.commands.append(command)
        self.environments.append(environ)
        if self.problem:
            raise MachineError(self.problem)
        return {"warnings": self.warnings}

    def of(
        self, *benchmarks: Benchmark, arch: str = "cuda", node: Node = NODE, **changes: Any
    ) -> tuple[str, ...]:
        made = plan(*benchmarks, arch=arch, **{"site": SITE, **changes})
        return check_gpus(made, benchmarks, node, {"HOME": "/home/x", "CUDA_X": "caller"}, self)


@pytest.fixture
def checks() -> Checks:
    return Checks()


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text("import json\nimport torch.nn as nn\n")
    return path


def test_processes_of_others_are_told_before_the_run(
    checks: Checks, train: Path, stub: Callable[..., None]
) -> None:
    other = os.getppid()
    stub("system gpus 4", f"3 pids {os.getpid()},{other}", f"1 pids {other}")
    (warning,) = checks.of(benchmark("b", program=train, plan=njobs(1)))
    said = f"GPU 3 is used by {other_process(other)}, with 5.0 GiB: what it does is in the numbers"
    assert warning == said
    os.kill(other, 0)  # it is not touched


def test_one_check_for_all_benchmarks_of_an_interpreter(checks: Checks, train: Path) -> None:
    many = [benchmark(f"b{k}", program=train, plan=njobs(1)) for k in range(30)]
    assert checks.of(*many, benchmark("alone", program=train)) == ()
    ((python, _, script, given),) = checks.commands
    assert (python, Path(script)) == ("/usr/bin/python3", SHIPPED / "common/preflight.py")
    assert json.loads(given) == {
        "uuids": [None, None],  # no driver is here
        "compiled": [],
        "loaders": [],
        "processes": 2,
    }
    (env,) = checks.environments
    assert env["CUDA_VISIBLE_DEVICES"] == "0,3"
    assert (env["MILABENCH_DEVICE"], env["HOME"], env["CUDA_X"]) == ("cuda", "/home/x", "caller")


def test_a_check_for_each_interpreter_and_for_what_decides_what_it_finds(
    checks: Checks, train: Path
) -> None:
    site = Site("/usr/bin/python3", {"other": "/venv/other/bin/python"}, SITE.voir_shim)
    checks.of(
        benchmark("a", program=train, env={"NCCL_ALGO": "Ring"}),
        benchmark("b", program=train, env={"NCCL_ALGO": "Tree"}),  # decides nothing
        benchmark("c", program=train, install_group="other"),
        benchmark("d", program=train, env={"LD_LIBRARY_PATH": "/compat"}),
        site=site,
    )
    pythons = [command[0] for command in checks.commands]
    assert pythons == ["/usr/bin/python3", "/venv/other/bin/python", "/usr/bin/python3"]
    assert [env.get("LD_LIBRARY_PATH") for env in checks.environments] == [None, None, "/compat"]


def test_instances_of_mig_are_checked_one_by_one(checks: Checks, train: Path) -> None:
    """CUDA shows a process one instance alone, so torch would seem to miss the others."""
    instances = Node("n0", tuple(Device(k, f"MIG-{k}") for k in range(3)), 16)
    checks.warnings = ["little memory"]
    assert checks.of(benchmark(program=train), node=instances) == ("little memory",)
    shown = [env["CUDA_VISIBLE_DEVICES"] for env in checks.environments]
    assert shown == ["MIG-0", "MIG-1", "MIG-2"]
    assert [json.loads(command[3])["uuids"] for command in checks.commands] == [[None]] * 3
    assert {json.loads(command[3])["processes"] for command in checks.commands} == {3}


@pytest.mark.parametrize("arch", ["cpu", "hpu"])
def test_no_check_without_gpus_that_torch_knows(checks: Checks, train: Path, arch: str) -> None:
    checks.problem = "would fail"
    assert checks.of(benchmark(program=train), arch=arch) == ()
    assert checks.commands == []


def test_no_check_for_what_needs_no_gpu_of_torch(checks: Checks, train: Path) -> None:
    checks.problem = "would fail"
    trivial = train.with_name("trivial.py")
    trivial.write_text("# import torch\nimport my_torch\nprint('import torch')\n")
    shell = train.with_name("shell.sh")
    shell.write_text("import torch\n")
    checks.of(
        benchmark("trivial", program=trivial),
        benchmark("shell", program=shell),
        benchmark("missing", program=train.with_name("missing.py")),
        benchmark("on-cpu", program=train, env={"MILABENCH_DEVICE": "cpu"}),
    )
    assert checks.commands == []


@pytest.mark.parametrize("program", sorted(SHIPPED.glob("*/main.py")), ids=lambda p: p.parent.name)
def test_the_programs_of_this_suite_use_torch(program: Path) -> None:
    assert uses_torch(program)


@pytest.mark.parametrize(
    "line",
    [
        "import torch",
        "    import torch  # in a function",
        "from torch.nn import Linear",
        "import torchvision.models as models",
        "from lightning.pytorch import Trainer",
        "from transformers import AutoModel",
    ],
)
def test_imports_of_torch(tmp_path: Path, line: str) -> None:
    program = tmp_path / "main.py"
    program.write_text(f'"""A program."""\n{line}\n')
    assert uses_torch(program)


def test_what_is_compiled_is_named(checks: Checks, train: Path) -> None:
    checks.of(
        benchmark("a", program=train, argv=("--compile", "inductor")),
        benchmark("b", program=train, argv=("--compile", "none")),
        benchmark("c", program=train, argv=("--x", "1", "--compile=inductor")),
        benchmark("d", program=train, argv=("--compile",)),
    )
    assert json.loads(checks.commands[0][3])["compiled"] == ["a", "c"]


def test_what_may_load_data_is_named_with_its_arguments(checks: Checks, train: Path) -> None:
    argvs = [("--loader", "pytorch"), ("--trainer=e2e",), ("--num-workers", "3"), ("--loaders",)]
    many = [benchmark(f"b{k}", program=train, argv=argv) for k, argv in enumerate(argvs)]
    checks.of(*many)
    expected = [[f"b{k}", str(train), list(argvs[k])] for k in range(3)]
    assert json.loads(checks.commands[0][3])["loaders"] == expected


def test_a_warning_of_several_checks_is_told_once(checks: Checks, train: Path) -> None:
    checks.warnings = ["/dev/shm has 64 MiB free"]
    other = benchmark("b", program=train, env={"LD_PRELOAD": "x.so"})
    assert checks.of(benchmark("a", program=train), other) == ("/dev/shm has 64 MiB free",)
    assert len(checks.commands) == 2


def test_the_sentence_names_interpreter_and_benchmarks(checks: Checks, train: Path) -> None:
    checks.problem = "torch 2.11 cannot use cuda: planted; do this"
    many = [benchmark(f"b{k}", program=train) for k in range(5)]
    with pytest.raises(MachineError) as refused:
        checks.of(*many)
    assert str(refused.value) == (
        "--device cuda: /usr/bin/python3 cannot use the GPUs: torch 2.11 cannot use cuda: planted; "
        "do this. It would run b0, b1, b2 and 2 more. To measure the CPU: --device cpu"
    )
    assert len(checks.commands) == 1
