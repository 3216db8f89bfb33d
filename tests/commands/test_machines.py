"""The machines that there are, as a stub of NVML shows them: each is used, or refused in words."""

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pynvml
import pytest

from milabench_ddp.cli import main
from milabench_ddp.doctor import host_checks
from milabench_ddp.machine.backends.nvidia import NvidiaBackend
from tests.support import nvml_stub
from tests.support.torch_gpus import H100, torch_with
from tests.support.workplace import GOOD


class Machine(NamedTuple):
    """What NVML tells, and how many GPUs may then be used."""

    gpus: int
    statements: str = ""
    driver: int | None = 610  # None: its library is not there
    said: str = ""  # of what is left out, or why none can be used


def gpus(count: int, name: str, memory: int, capability: str, **more: object) -> Machine:
    told = f"system gpus {count}; * name {name}; * memory {memory}; * capability {capability}"
    return Machine(count, told, **more)  # type: ignore[arg-type]


MACHINES = {
    "V100": gpus(1, "Tesla_V100-SXM2-16GB", 16384, "7.0"),
    "V100, driver 470": gpus(8, "Tesla_V100-SXM2-32GB", 32768, "7.0", driver=470),
    "A10": gpus(1, "NVIDIA_A10", 23028, "8.6"),
    "A100, driver 525": gpus(8, "NVIDIA_A100-SXM4-40GB", 40960, "8.0", driver=525),
    "seven L40S": gpus(7, "NVIDIA_L40S", 46068, "8.9"),
    "H100": gpus(8, "NVIDIA_H100_80GB_HBM3", 81559, "9.0"),
    "H200": gpus(1, "NVIDIA_H200", 143771, "9.0"),
    "B200": gpus(8, "NVIDIA_B200", 183359, "10.0"),
    "B300": gpus(7, "NVIDIA_B300", 275040, "10.3"),
    "memory that is not told": Machine(2, "* memory error:3; * capability error:3"),
    "instances of MIG": Machine(8, "system gpus 8; * mig 3"),
    "one of eight lost": Machine(7, "system gpus 8; 3 error 15", said="GPU 3 is left out: it has"),
    "one of two to be reset": Machine(1, "0 error 16", said="GPU 0 is left out: it must be reset"),
    "all lost": Machine(0, "* error 15", said="GPU 1 is left out: it has fallen off the bus"),
    "no GPU": Machine(0, "system gpus 0", said="the NVIDIA driver finds no GPU"),
    "another kernel module": Machine(0, "system init 18", said="restart the machine"),
    "no permission": Machine(0, "system init 4", said="see the permissions of /dev/nvidia*"),
    "a driver of 2017": Machine(0, driver=390, said="too old for nvidia-ml-py"),
    "no library": Machine(0, driver=None, said="libnvidia-ml.so.1 was not found"),
}


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command here; torch says that it can use the GPUs, and the load is not watched."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host_checks, "_WHILE", 0.0)
    monkeypatch.setenv("MILABENCH_BASE", str(tmp_path / "base"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    python = tmp_path / "python"
    can = f"echo '{json.dumps({'done': True})}'"
    text = f'case "$*" in *preflight.py*) {can};; *) exec {sys.executable} "$@";; esac'
    python.write_text(f"#!/bin/sh\n{text}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    (tmp_path / "a.py").write_text(GOOD)
    (tmp_path / "a.yaml").write_text("a: {program: a.py, plan: {method: per_gpu}}\n")

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert "milabench itself failed" not in out + err
        return code, out, err

    return call


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """The folder of the library of a driver."""
    return cache(lambda driver: nvml_stub.build(tmp_path_factory.mktemp("nvml"), driver))


@pytest.fixture(params=MACHINES.values(), ids=MACHINES)
def machine(
    request: pytest.FixtureRequest,
    library: Callable[[int], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Machine:
    made: Machine = request.param
    monkeypatch.setenv("NVML_STUB", made.statements)
    if made.driver is None:
        monkeypatch.setattr(pynvml, "nvmlLib", None)
        monkeypatch.setattr(pynvml, "CDLL", _not_found)
    else:
        nvml_stub.load(library(made.driver), monkeypatch)
    return made


def test_gpus_that_torch_alone_finds_are_measured_without_a_monitor(
    command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", _not_found)
    monkeypatch.setattr(NvidiaBackend, "has_node", lambda self: True)
    for name, value in torch_with(H100, H100).items():
        monkeypatch.setenv(name, value)
    said = "torch finds 2 GPUs that the library of their driver does not tell"
    code, _, err = command("run", "a.yaml", "--name", "mine")
    assert (code, ", 2 x NVIDIA H100" in err, said in err) == (0, True, True)
    code, out, err = command("report", "base/runs/mine", "--format", "json")
    assert code == 0, err
    found = {each["severity"] for each in json.loads(out)["findings"] if said in str(each)}
    assert found == {"note"}
    assert "error" not in {each["severity"] for each in json.loads(out)["findings"]}
    code, out, _ = command("doctor", "--json")
    assert code == 0, out
    assert said in out


def _not_found(name: str) -> None:
    raise OSError(name)


def test_each_machine_is_used_or_refused_in_words(
    machine: Machine, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = command("list", "ddp")
    assert (code, "benchmarks would run" in out) == (0, True)
    code, script, _ = command("dry", "ddp")
    shown = re.findall(r" CUDA_VISIBLE_DEVICES=(\S*) .* --dtype bf16 &", script)
    assert code == 0
    assert len(set(shown) - {"''"}) == machine.gpus
    code, _, err = command("run", "a.yaml", "--name", "mine")
    assert (code, machine.said in err) == (0, True)
    assert (f", {machine.gpus} x " if machine.gpus else ", 2 CPU slots") in err
    code, out, _ = command("doctor", "--json")
    assert code <= 1
    assert machine.said in out
    for verb in ("list", "dry", "run") if not machine.gpus else ():
        code, _, err = command(verb, "a.yaml", "--device", "cuda")
        assert code == 2
        assert re.fullmatch(r"milabench: --device cuda: .* To measure the CPU: --device cpu\n", err)
        assert machine.said in err
