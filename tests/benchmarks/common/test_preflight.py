"""The check of GPUs in the interpreter of the benchmarks; torch's GPUs are made up."""

import shutil
import sysconfig
from collections import namedtuple
from types import SimpleNamespace

import pytest
import torch

from benchmarks.common import preflight
from benchmarks.common.failure import UnsupportedError

UUIDS = [f"GPU-{k:08d}-0000-0000-0000-000000000000" for k in range(3)]
FREE = namedtuple("FREE", ["free"])


class Gpus:
    """GPUs that torch finds, what was done on them, and what fails."""

    def __init__(self, monkeypatch):
        self.uuids, self.done, self.broken = list(UUIDS), [], {}
        monkeypatch.setenv("MILABENCH_DEVICE", "cuda")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
        monkeypatch.setattr(torch.version, "hip", None)
        monkeypatch.setattr(torch.cuda, "init", lambda: self.use("init"))
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(self.uuids))
        monkeypatch.setattr(torch.cuda, "get_device_properties", self.properties)
        monkeypatch.setattr(preflight, "multiply", lambda device: self.use(str(device)))
        monkeypatch.setattr(preflight, "all_reduce", lambda: self.use("all-reduce"))

    def properties(self, device):
        return SimpleNamespace(uuid=self.uuids[device.index].removeprefix("GPU-"))

    def use(self, what):
        self.done.append(what)
        if what in self.broken:
            raise RuntimeError(self.broken[what])

    def why_not(self, uuids=UUIDS):
        """The sentence that says why torch cannot use them; empty if it can."""
        try:
            preflight.check(uuids, lambda stage: None)
        except UnsupportedError as error:
            return str(error)
        return ""


@pytest.fixture
def gpus(monkeypatch):
    return Gpus(monkeypatch)


def test_every_gpu_is_used_and_each_stage_is_told_before(gpus):
    told = []
    preflight.check(UUIDS, lambda stage: told.append((stage, len(gpus.done))))
    assert gpus.done == ["init", "cuda:0", "cuda:1", "cuda:2", "all-reduce"]
    assert told == [
        ("imports torch", 0),
        ("initialises cuda", 0),
        ("multiplies matrices on cuda:0", 1),
        ("multiplies matrices on cuda:1", 2),
        ("multiplies matrices on cuda:2", 3),
        ("reduces a tensor over one rank", 4),
    ]


def test_torch_does_not_know_the_uuid_of_an_instance_of_mig(gpus):
    assert gpus.why_not([None, *UUIDS[1:]]) == ""


@pytest.mark.parametrize("missing", [0, 2])
def test_a_gpu_that_torch_does_not_find(gpus, missing):
    del gpus.uuids[missing]
    said = "torch finds 2 of 3 GPUs of the plan: look at CUDA_VISIBLE_DEVICES=0,1,2"
    assert gpus.why_not().startswith(said)
    assert gpus.done == ["init"]


@pytest.mark.parametrize("place", [0, 2])
def test_another_gpu_than_the_plans(gpus, place):
    gpus.uuids[place] = "GPU-ffffffff-0000-0000-0000-000000000000"
    said = f"torch's GPU {place} is {gpus.uuids[place]}, and the plan's is {UUIDS[place]}: "
    assert gpus.why_not().startswith(said)


def test_gpus_in_another_order(gpus):
    gpus.uuids.reverse()
    assert gpus.why_not().startswith(f"torch's GPU 0 is {UUIDS[2]}, ")


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("init", "cuda"),
        ("cuda:0", "cuda:0"),
        ("cuda:2", "cuda:2"),
        ("all-reduce", "its library for collectives"),
    ],
)
def test_what_fails_is_named_with_torchs_reason(gpus, what, name):
    gpus.broken[what] = "CUDA error: no kernel image is available for execution on the device"
    sentence = gpus.why_not()
    assert f" cannot use {name}: CUDA error: no kernel image" in sentence
    assert sentence.endswith("; install a torch that is built for GPUs of this capability")
    assert gpus.done[-1] == what


def test_the_products_and_the_sum_are_compared(monkeypatch):
    cpu = torch.device("cpu")
    preflight.multiply(cpu)
    monkeypatch.setenv("MILABENCH_DEVICE", "cpu")
    preflight.all_reduce()
    wrong = torch.full((preflight.SIDE, preflight.SIDE), 1.0)
    wrong[-1, -1] = 1.5
    monkeypatch.setattr(torch, "ones", lambda *shape, device: wrong)
    with pytest.raises(RuntimeError, match="the product of two matrices of ones is wrong"):
        preflight.multiply(cpu)
    with pytest.raises(RuntimeError, match="the sum over one rank is wrong"):
        preflight.all_reduce()


@pytest.mark.parametrize(("mib", "devices"), [(64, 1), (1023, 1), (8191, 8)])
def test_little_shared_memory(monkeypatch, mib, devices):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FREE(mib << 20))
    (said,) = preflight.warnings(devices, [])
    assert said.startswith(f"/dev/shm has {mib} MiB free")
    assert "--shm-size=" in said


def test_enough_shared_memory(monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FREE(8192 << 20))
    assert list(preflight.warnings(8, [])) == []


def test_no_shared_memory_at_all(tmp_path):
    (said,) = preflight.warnings(1, [], tmp_path / "missing")
    assert said.startswith(f"{tmp_path}/missing has 0 MiB free")


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder for programs, the only one; without headers of Python."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FREE(1 << 40))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"include": str(tmp_path)})
    return tmp_path


def test_a_compiler_that_triton_needs(tools, monkeypatch):
    compiled = ["gpt-ddp-inductor", "bert-inductor"]
    assert list(preflight.warnings(1, [])) == []  # nothing is compiled
    (said,) = preflight.warnings(1, compiled)
    assert said.startswith("Triton needs a C compiler")
    assert said.endswith(": gpt-ddp-inductor, bert-inductor will fail")
    monkeypatch.setenv("CC", "icx")
    (said,) = preflight.warnings(1, compiled)
    assert said.startswith(f"Triton needs {tools}/Python.h")
    monkeypatch.delenv("CC")
    (tools / "gcc").touch(mode=0o755)
    (tools / "Python.h").touch()
    assert list(preflight.warnings(1, compiled)) == []
