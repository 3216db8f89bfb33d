"""Checks of a host on which things are planted."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from milabench_ddp.doctor import host_checks
from milabench_ddp.doctor.diagnosis import State
from milabench_ddp.launch import py_spy
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.devices import Cluster, Device, Node
from tests.doctor.conftest import Plant
from tests.support.wait import PATIENCE

CPU = detect("cpu", 1, {})
GPU = Cluster("cuda", (Node("n1", (Device(0, "0", "NVIDIA H200"),), 8),))


@pytest.fixture
def other() -> Iterator[int]:
    """A process that computes and that is none of ours: its parent has ended."""
    spin = "import os\nif os.fork(): os._exit(0)\nprint(os.getpid(), flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", spin], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        yield pid
        os.kill(pid, 9)


def test_another_process_that_computes_is_named(other: int, monkeypatch: pytest.MonkeyPatch):
    for least in ("_BUSY", "_TOLD"):
        monkeypatch.setattr(host_checks, least, 0.0)  # however busy the machine is
    monkeypatch.setattr(host_checks, "shown_names", lambda names, most: ", ".join(names))
    (found,) = host_checks.load(CPU)
    assert found.state == State.WARNING
    assert f"(pid {other}, of " in found.found


def test_our_own_processes_are_no_others(monkeypatch: pytest.MonkeyPatch):
    for least in ("_BUSY", "_TOLD"):
        monkeypatch.setattr(host_checks, least, 0.0)
    monkeypatch.setattr(host_checks, "shown_names", lambda names, most: ", ".join(names))
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as own:
        (found,) = host_checks.load(CPU)
        own.kill()
    assert f"(pid {own.pid}, " not in found.found


@pytest.mark.usefixtures("stub")
def test_another_process_on_a_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NVML_STUB", f"0 pids {os.getppid()}")
    found = list(host_checks.load(GPU))
    assert found[0].state == State.WARNING
    assert found[0].found.startswith("GPU 0 is used by ")
    assert "no other process computes" not in [each.found for each in found]


def test_a_py_spy_that_works(plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host_checks, "PATIENCE", PATIENCE)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    frame = {"filename": "a.py", "line": 1, "name": "f"}
    plant(py_spy=f"echo '{json.dumps([{'thread_name': 'MainThread', 'frames': [frame]}])}'")
    (found,) = host_checks.py_spy()
    assert found.state == State.OK


@pytest.mark.parametrize(
    ("program", "advice"),
    [
        (None, "pip install py-spy"),
        ("echo Error: Permission denied >&2; exit 1", "--cap-add SYS_PTRACE"),
        ("exec sleep 60", "did not answer in time"),
    ],
)
def test_a_py_spy_that_is_not_there_not_allowed_or_hangs(
    program: str | None, advice: str, plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(host_checks, "PATIENCE", PATIENCE if "sleep" not in str(program) else 0.2)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setattr(py_spy, "PTRACE_SCOPE", tmp_path / "scope")  # without Yama
    if program:
        plant(py_spy=program)
    (found,) = host_checks.py_spy()
    assert found.state == State.WARNING
    assert advice in found.advice


def test_variables_that_do_harm_on_these_devices(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    (found,) = host_checks.variables(CPU, 1)
    assert found.state == State.OK
    (found,) = host_checks.variables(GPU, 1)
    assert (found.state, found.advice) == (State.WARNING, "unset CUDA_LAUNCH_BLOCKING")
