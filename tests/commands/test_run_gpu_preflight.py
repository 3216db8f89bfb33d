"""Runs on GPUs that the driver shows and torch cannot use: NVML is a stub, the rest is real."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.machine.provenance import torch_build
from tests.support import nvml_stub
from tests.support.workplace import EMIT, GOOD, Done, Workplace

OF_TORCH = GOOD + "\nif False:\n    import torch"  # by its source
BUILD = {name: value for name, value in torch_build(sys.path).items() if value}
ON_TWO = ("--device", "cuda", "--gpus", "1", "--nodes", "2")


@pytest.fixture
def gpus(at: Workplace, nvml_library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", str(nvml_library))
    monkeypatch.setenv("NVML_STUB", "* name NVIDIA_H100_80GB_HBM3")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def told(at: Workplace, gpus: None) -> Callable[..., None]:
    """Writes an interpreter whose check of the GPUs does what the test says, in words of a shell.

    ``$CUDA_VISIBLE_DEVICES`` is 0 on the first of two nodes, and 1 on the second.
    """

    def make(words: str) -> None:
        text = f'case "$*" in *preflight.py*) {words};; *) exec {sys.executable} "$@";; esac'
        at.write("base/venv/x/bin/python", f"#!/bin/sh\n{text}\n").chmod(0o755)

    return make


def configured(at: Workplace, **programs: str) -> None:
    lines = []
    for name, text in programs.items():
        at.write(f"{name}.py", text)
        count = f", num_machines: {name[-1]}" if name[-1].isdecimal() else ""
        lines.append(
            f"{name}: {{program: {name}.py, plan: {{method: per_gpu}}, install_group: x{count}}}"
        )
    at.write("suite.yaml", "\n".join(lines) + "\n")


def run(at: Workplace, *words: str) -> Done:
    return at.milabench("run", "suite.yaml", "--name", "mine", *words)


def says(**fields: object) -> str:
    return f"echo '{json.dumps(fields)}'"


@pytest.mark.slow
@pytest.mark.usefixtures("gpus")
def test_a_torch_that_cannot_use_the_gpus_ends_the_run_before_it_begins(at: Workplace) -> None:
    """The worst case there was: the CPU, measured and reported as GPUs."""
    done = at.milabench("run", "ddp", "--select", "elastic-ddp,flops-bf16")
    assert (done.code, done.out) == (2, "")
    said = f"milabench: --device cuda: {sys.executable} cannot use the GPUs: torch"
    (refused,) = done.err.splitlines()
    assert refused.startswith(said)
    assert "It would run flops-bf16, elastic-ddp. To measure the CPU: --device cpu" in refused
    assert not (at.folder / "base" / "runs").exists()


@pytest.mark.slow
@pytest.mark.skipif("cuda" not in BUILD, reason="the torch that is installed has no CUDA")
def test_a_driver_that_is_too_old_for_torchs_cuda(at: Workplace, monkeypatch) -> None:
    """All the way down to CUDA's own runtime, whose driver is the stub, too."""
    library = nvml_stub.build(at.folder, driver=470)
    (library / "libcuda.so.1").symlink_to("libnvidia-ml.so.1")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library))
    done = at.milabench("run", "ddp", "--select", "flops-bf16")
    assert done.code == 2
    assert "The NVIDIA driver on your system is too old (found CUDA 11.4)" in done.err
    needed = {"12": 525, "13": 580}[str(BUILD["cuda"]).split(".")[0]]
    assert f"; update the driver: CUDA {str(BUILD['cuda'])[:2]} needs {needed} or newer" in done.err


@pytest.mark.usefixtures("gpus")
def test_a_program_without_torch_needs_none_that_works(at: Workplace) -> None:
    configured(at, plain=EMIT + "for _ in range(20): rate(len(os.environ['MILABENCH_DEVICE']))")
    done = run(at)
    assert done.code == 0, done.err
    assert "2 x NVIDIA H100 80GB HBM3" in done.out


def test_a_resumed_run_is_checked_again(at: Workplace, told: Callable[..., None]) -> None:
    told(says(done=True))
    configured(at, a=OF_TORCH)
    assert run(at).code == 0
    (at.run() / "a" / "state.json").unlink()
    told(says(problem="planted"))
    before = sorted(at.run().rglob("*"))
    done = at.milabench("run", "--resume", str(at.run()))
    assert (done.code, "cannot use the GPUs: planted. " in done.err) == (2, True), done.err
    assert sorted(at.run().rglob("*")) == before


def test_what_will_be_lacking_is_told_at_once_and_in_the_report(
    at: Workplace, told: Callable[..., None]
) -> None:
    told(f"{says(warning='no compiler')}; {says(done=True)}")
    configured(at, a=OF_TORCH)
    done = run(at)
    assert done.code == 0, done.err
    (said,) = (line for line in done.err.splitlines() if "no compiler" in line)
    assert done.err.index(said) < done.err.index("a: measuring")
    assert said.split(" ", 1)[1] in done.out  # after the time of day
    again = at.milabench("report", str(at.run()), "--format", "json")
    (found,) = (each for each in json.loads(again.out)["findings"] if "compiler" in str(each))
    assert found["name"] == "lacking_node"


@pytest.mark.parametrize("odd", [0, 1])
def test_one_of_two_nodes_that_agents_check(
    at: Workplace, told: Callable[..., None], odd: int
) -> None:
    """As over ssh and in jobs of Slurm: the node is named and left out, what fits runs."""
    bad = says(problem="planted")
    good = f"{says(warning='little memory')}; {says(done=True)}"
    told(f'if [ "$CUDA_VISIBLE_DEVICES" = {odd} ]; then {bad}; else {good}; fi')
    configured(at, a2=OF_TORCH, b1=OF_TORCH)
    done = run(at, *ON_TWO)
    assert done.code == 1, done.err
    said = f"node{odd} did not start: --device cuda: {at.folder}/base/venv/x/bin/python cannot use"
    assert done.err.index(said) < done.err.index("b1: on ")
    assert said in done.out
    assert f"node{1 - odd}: little memory" in done.err
    assert f"node{1 - odd}: little memory" in done.out
    assert at.statuses() == {"a2": "lost", "b1": "ok"}
    assert said in at.state().benchmarks["a2"].reason
