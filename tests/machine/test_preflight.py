"""The facts of a node that are compared with those of the others, and the check of its GPUs."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from milabench_ddp.errors import MachineError
from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.machine.preflight import node_facts, run_check
from milabench_ddp.machine.provenance import collect
from tests.fakes.nvml import FakeNvml, gpus
from tests.support.wait import PATIENCE

NODE = Node("n1", tuple(Device(i, str(i), "NVIDIA H200", 143771.0) for i in range(2)), 8)


def test_what_a_node_with_gpus_has(install: Callable[..., FakeNvml]) -> None:
    install(gpus(2))
    environ = {
        "NCCL_DEBUG": "WARN",
        "SLURM_NODEID": "3",
        "MILABENCH_NODE": "n1",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "HOME": "/home/x",
    }
    found = node_facts(collect("cuda", NODE, [], environ), 8)
    assert found["the driver"] == "610.43"
    assert found["the number of GPUs"] == "8"  # of which two are used
    assert found["the GPU"] == "NVIDIA H200"
    assert found["the memory of its GPUs"] == "143771 MiB"
    assert found["python"].startswith("CPython 3.")
    assert {"torch", "numpy", "milabench", "the kernel", "the CPU"} <= set(found)
    assert [name for name in found if name.startswith("$")] == ["$NCCL_DEBUG"]


def test_gpus_that_differ_on_one_node(install: Callable[..., FakeNvml]) -> None:
    install([*gpus(1), *gpus(1, "NVIDIA T400")])
    devices = (Device(0, "0", "NVIDIA H200"), Device(1, "1", "NVIDIA T400"))
    found = node_facts(collect("cuda", Node("n1", devices, 8), [], {}), 2)
    assert found["the GPU"] == "1 x NVIDIA H200 and 1 x NVIDIA T400"


def test_cpu_slots_have_no_gpu() -> None:
    slot = Node("n1", (Device(0, "0", "slot"),), 2)
    found = node_facts(collect("cpu", slot, [], {}), 0)
    assert not {"the driver", "the GPU", "the number of GPUs"} & set(found)


def script(*lines: str) -> list[str]:
    return ["sh", "-c", "\n".join(lines)]


def says(**fields: object) -> str:
    return f"echo '{json.dumps(fields)}'"


def why_not(command: list[str], limit: float = PATIENCE) -> str:
    with pytest.raises(MachineError) as refused:
        run_check(command, os.environ, limit)
    return str(refused.value)


def test_a_check_that_finds_nothing_but_warnings() -> None:
    """What libraries print beside it is ignored."""
    lines = ["NCCL version 2.30", "[3]", "7", "{"]
    said = [says(warning="one"), says(stage="x"), says(warning="two"), says(done=True)]
    command = script(*[f"echo '{line}'" for line in lines], *said)
    assert run_check(command, os.environ)["warnings"] == ["one", "two"]


def test_a_check_that_says_what_is_wrong() -> None:
    assert why_not(script(says(stage="imports torch"), says(problem="no CUDA"))) == "no CUDA"


def test_a_check_that_crashes() -> None:
    command = script(says(stage="initialises cuda"), "echo boom >&2", "kill -SEGV $$")
    assert why_not(command) == "it ended while it initialises cuda: killed by SIGSEGV: boom"


def test_a_check_that_ends_too_early() -> None:
    assert why_not(script("true")) == "it ended while it starts: without a word: "


def test_an_interpreter_that_is_not_there() -> None:
    assert why_not(["/nowhere/python"]) == "it cannot be executed: No such file or directory"


def test_a_check_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    real = subprocess.Popen

    def popen(*args: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(real(*args, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    said = why_not(script("sleep 600"), limit=0.1)
    assert said.startswith("it has not ended after 0.1 s, and hangs while it starts: look for Xid")
    assert started[0].returncode == -signal.SIGKILL


def test_the_stage_in_which_a_check_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    def communicate(self: "subprocess.Popen[bytes]", timeout: float) -> None:
        assert self.stdout is not None
        raise subprocess.TimeoutExpired(self.args, timeout, self.stdout.read(30))

    monkeypatch.setattr(subprocess.Popen, "communicate", communicate)
    said = why_not(script(says(stage="initialises cuda"), "exec >&-", "sleep 600"))
    assert said.startswith(f"it has not ended after {PATIENCE:g} s, and hangs while it initialises")
