import os
import sys
from collections.abc import Callable

import pynvml
import pytest

from milabench_ddp.machine.backends.nvml import (
    DriverError,
    ask,
    inventory,
    open_device,
    session,
)
from milabench_ddp.machine.devices import Device
from tests.fakes.nvml import FakeGpu, FakeNvml, gpus

Install = Callable[..., FakeNvml]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "no NVIDIA driver is installed"),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "installed but not running"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "restart the machine"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "permissions of /dev/nvidia"),
        (pynvml.NVML_ERROR_UNKNOWN, "does not work: Unknown Error"),
    ],
)
def test_failures_are_told_apart(install: Install, code: int, words: str) -> None:
    install(init_error=code)
    with pytest.raises(DriverError, match=words), session():
        pass


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(DriverError, match="nvidia-ml-py is not installed"), session():
        pass


def test_a_session_ends_also_by_an_exception(install: Install) -> None:
    nvml = install(gpus(1))
    with pytest.raises(pynvml.NVMLError_NotFound), session():
        open_device(nvml, "GPU-none")
    assert nvml.sessions == 0


def test_a_driver_that_dies_in_a_session_adds_no_error(install: Install) -> None:
    nvml = install(gpus(1))
    with session():
        nvml.nvmlShutdown()
    assert nvml.sessions == 0


def test_inventory(install: Install) -> None:
    install(gpus(8))
    with session() as nvml:
        known = inventory(nvml)
    assert [gpu.device.index for gpu in known.gpus] == list(range(8))
    assert {gpu.device.name for gpu in known.gpus} == {"NVIDIA H200"}
    assert {gpu.device.memory_mib for gpu in known.gpus} == {143771.0}
    assert len({gpu.device.id for gpu in known.gpus}) == 8
    assert known.problems == ()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (pynvml.NVML_ERROR_GPU_IS_LOST, "it has fallen off the bus; restart the machine"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "it is not open to this process"),
        (pynvml.NVML_ERROR_RESET_REQUIRED, "it must be reset"),
        (pynvml.NVML_ERROR_UNKNOWN, "Unknown Error"),
    ],
)
def test_a_gpu_that_fails_is_left_out_and_named(install: Install, code: int, words: str) -> None:
    three = gpus(3)
    three[1].error = code
    install(three)
    with session() as nvml:
        known = inventory(nvml)
    assert [gpu.device.index for gpu in known.gpus] == [0, 2]
    (problem,) = known.problems
    assert problem.startswith(f"GPU 1 is left out: {words}")


def test_memory_that_is_not_told_is_zero(install: Install) -> None:
    install([FakeGpu("GB10", "GPU-0", total=None)])
    with session() as nvml:
        (gpu,) = inventory(nvml).gpus
    assert gpu.device.memory_mib == 0.0


def test_mig_devices(install: Install) -> None:
    parts = [FakeGpu("A100 MIG 3g.40gb", f"MIG-{i}", total=40_000) for i in range(2)]
    install([FakeGpu("A100", "GPU-0", mig=parts), FakeGpu("A100", "GPU-1")])
    with session() as nvml:
        first, second = inventory(nvml).gpus
    assert first.mig
    assert first.instances == (
        Device(0, "MIG-0", "A100", 40_000.0, capability=9.0),
        Device(0, "MIG-1", "A100", 40_000.0, capability=9.0),
    )
    assert not second.mig


def test_devices_are_opened_by_index_and_by_uuid(install: Install) -> None:
    part = FakeGpu("A100 MIG", "MIG-0")
    fake = install([FakeGpu("A100", "GPU-0", mig=[part]), FakeGpu("A100", "GPU-1")])
    with session() as nvml:
        assert open_device(nvml, "1") is fake.gpus[1]
        assert open_device(nvml, "GPU-0") is fake.gpus[0]
        assert open_device(nvml, "MIG-0") is part
        assert ask(nvml, open_device, nvml, "GPU-9") is None


def test_a_driver_that_does_not_even_count(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)

    monkeypatch.setattr(install(gpus(1)), "nvmlDeviceGetCount", fail)
    with session() as nvml, pytest.raises(DriverError, match="does not work: Unknown Error"):
        inventory(nvml)


def test_what_the_driver_tells_of_each_gpu(stub: Callable[..., None]) -> None:
    stub("system gpus 8", "* capability 8.6", "7 capability 12.1", "6 cpus f0000000000000001")
    with session() as nvml:
        found = [gpu.device for gpu in inventory(nvml).gpus]
    assert [device.index for device in found] == list(range(8))
    assert [device.capability for device in found] == [8.6] * 7 + [12.1]
    words = os.sysconf("SC_NPROCESSORS_CONF") // 64 + 1
    assert found[6].cpus == ((0, 64, 65, 66, 67) if words > 1 else (0,))
    assert found[5].cpus == found[7].cpus == ()
