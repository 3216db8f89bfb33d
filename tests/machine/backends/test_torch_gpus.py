"""GPUs of which the driver's library does not tell, and torch does; torch is a stand-in."""

import sys
from collections.abc import Callable
from types import SimpleNamespace

import pynvml
import pytest

from milabench_ddp.machine import preflight
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import DiscoveryResult
from milabench_ddp.machine.backends.nvidia import NvidiaBackend
from tests.support.torch_gpus import H100, MI300X, torch_with

MONITORLESS = "): they are measured without a monitor"
CAPABILITIES = "NVIDIA_DRIVER_CAPABILITIES"


@pytest.fixture(params=["cuda", "rocm"])
def vendor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def found(install: Callable[..., object], monkeypatch: pytest.MonkeyPatch):
    """What is found without the libraries of drivers, where the kernel shows GPUs of both kinds."""
    install(init_error=pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    absent = SimpleNamespace(is_installed=lambda: False, IMPORT_ERROR="No module rsmiBindings")
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", absent)
    monkeypatch.setattr(NvidiaBackend, "has_node", lambda self: True)
    monkeypatch.setattr(BACKENDS["rocm"], "may_be_present", lambda: True)

    def find(vendor: str, environ: dict[str, str]) -> DiscoveryResult:
        return BACKENDS[vendor].discover(environ, None)

    return find


def test_nvidias_gpus(found) -> None:
    cuda = found("cuda", torch_with(H100, H100))
    assert [(gpu.index, gpu.id[:6], gpu.name) for gpu in cuda.devices] == [
        (0, "GPU-0a", "NVIDIA H100"),
        (1, "GPU-1a", "NVIDIA H100"),
    ]
    assert {(gpu.memory_mib, gpu.capability) for gpu in cuda.devices} == {(81920, 9.0)}
    (note,) = cuda.notes
    assert note.startswith("torch finds 2 GPUs that the library of their driver does not tell (no")
    assert note.endswith(f"{MONITORLESS}; to a container it comes by `utility` in {CAPABILITIES}")


def test_amds_gpus(found) -> None:
    rocm = found("rocm", torch_with(MI300X, MI300X, hip="7.0"))
    assert [(gpu.id, gpu.uuid, gpu.memory_mib, gpu.capability) for gpu in rocm.devices] == [
        ("0", "GPU-0af7052596831000", 196608, 0),
        ("1", "GPU-1af7052596831001", 196608, 0),
    ]
    assert "No module rsmiBindings" in rocm.notes[0]
    assert f"{MONITORLESS}; install rocm-smi-lib" in rocm.notes[0]
    facts = BACKENDS["rocm"].accelerators(rocm.devices)["gpus"]
    assert [gpu["uuid"] for gpu in facts.values()] == [gpu.uuid for gpu in rocm.devices]


@pytest.mark.parametrize(
    ("vendor", "hip", "variables", "ids"),
    [
        ("cuda", None, {"CUDA_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ("cuda", None, {"CUDA_VISIBLE_DEVICES": "GPU-1aaa"}, [1]),
        ("rocm", "7.0", {"HIP_VISIBLE_DEVICES": "2,1"}, [2, 1]),
        ("rocm", "7.0", {"ROCR_VISIBLE_DEVICES": "GPU-2af,0", "HIP_VISIBLE_DEVICES": "1"}, [0]),
    ],
)
def test_those_that_the_caller_shows(found, vendor, hip, variables, ids) -> None:
    result = found(vendor, torch_with(H100, H100, H100, hip=hip) | variables)
    assert [gpu.index for gpu in result.devices] == ids


@pytest.mark.parametrize("gpus", [0, 1])
def test_torch_finds_none_or_those_of_the_other_vendor(found, vendor: str, gpus: int) -> None:
    is_amd = (vendor == "rocm") != bool(gpus)
    result = found(vendor, torch_with(*[H100] * gpus, hip="7.0" if is_amd else None))
    assert result.devices == ()
    assert result.notes[0].endswith("; torch finds none, either")


def test_a_torch_that_cannot_be_asked(found, vendor: str) -> None:
    result = found(vendor, torch_with(H100) | {"TORCH_GPUS": "damaged"})
    assert result.devices == ()
    assert "; torch cannot be asked: it ended while it imports torch: " in result.notes[0]


def test_without_a_sign_of_a_gpu_torch_is_not_asked(found, vendor, monkeypatch) -> None:
    """It takes seconds, and each command would wait for it."""
    monkeypatch.setattr(NvidiaBackend, "has_node", lambda self: False)
    monkeypatch.setattr(BACKENDS["rocm"], "may_be_present", lambda: False)

    def run_check(*words: object) -> None:
        raise AssertionError

    monkeypatch.setattr(preflight, "run_check", run_check)
    assert found(vendor, torch_with(H100, hip="6")).devices == ()


@pytest.mark.parametrize("gpus", [4, 0])
def test_torch_is_asked_once_by_a_command(found, gpus: int, monkeypatch) -> None:
    environ = torch_with(*[H100] * gpus) if gpus else {"PYTHONPATH": torch_with()["PYTHONPATH"]}
    first = found("cuda", environ)
    assert len(first.devices) == gpus

    def run_check(*words: object) -> None:
        raise AssertionError

    monkeypatch.setattr(preflight, "run_check", run_check)
    assert found("cuda", environ) == first


def test_the_files_by_which_the_kernel_shows_a_gpu(tmp_path) -> None:
    backend = NvidiaBackend()
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvme0").touch()
    assert not backend.has_node(tmp_path)
    (tmp_path / "dev/nvidiactl").touch()
    assert backend.has_node(tmp_path)
