"""The check of GPUs in the interpreter of the benchmarks; torch's GPUs are made up."""

import shutil
import sysconfig
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from benchmarks.common import preflight
from benchmarks.common.data import Images
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


def shm(monkeypatch, mib):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FREE(mib << 20))


@pytest.mark.parametrize(("mib", "devices"), [(64, 1), (1023, 1), (8191, 8)])
def test_little_shared_memory_without_a_plan(monkeypatch, mib, devices):
    shm(monkeypatch, mib)
    (said,) = preflight.warnings(devices, [])
    assert said.startswith(f"/dev/shm has {mib:,} MiB free, of {devices * 1024:,} that are needed:")
    assert f"--shm-size={devices}g or --ipc=host" in said
    shm(monkeypatch, devices * 1024)
    assert list(preflight.warnings(devices, [])) == []


def loaders(workers):
    """A benchmark whose loaders have so many workers, and others that need less."""
    program = str(Path(preflight.__file__).parents[1] / "torchvision" / "main.py")
    small = ["--batch-size", "256", "--image-size", "224"]
    return [
        ("fixed", program, [*small, "--num-workers", "64"]),
        ("heavy", program, [*small, "--loader", "pytorch", "--num-workers", str(workers)]),
        ("light", program, ["--batch-size", "8", "--loader", "pytorch"]),
        ("of-others", "/home/x/main.py", ["--loader", "pytorch"]),
        ("mistaken", program, ["--loader", "no"]),
    ]


def test_the_shared_memory_is_that_of_the_plans_loaders(monkeypatch):
    sample = sum(part.nbytes for part in Images(1, 224, 1000, 0)[0])  # 602,120 as fp32
    needed = 8 * (16 * 2 * 256 * sample + (33 << 20))
    shm(monkeypatch, (needed >> 20) + 1)
    assert list(preflight.warnings(8, [], loaders(16))) == []
    shm(monkeypatch, needed >> 20)
    (said,) = preflight.warnings(8, [], loaders(16))
    assert f"of {needed >> 20:,} that are needed by heavy: " in said
    assert f"--shm-size={-(-needed >> 30)}g or --ipc=host, or give its loader fewer" in said
    assert list(preflight.warnings(8, [], loaders(1))) == []


def test_without_loaders_nccl_alone_needs_some(monkeypatch):
    shm(monkeypatch, 263)
    (said,) = preflight.warnings(8, [], [])
    assert "has 263 MiB free, of 264 that are needed: " in said
    assert "fewer workers" not in said
    shm(monkeypatch, 264)
    assert list(preflight.warnings(8, [], [])) == []


def test_no_shared_memory_at_all(tmp_path):
    (said,) = preflight.warnings(1, [], shm=tmp_path / "missing")
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
