from collections.abc import Callable

import pynvml

from milabench_ddp.machine.accelerators import accelerators
from milabench_ddp.machine.devices import Device

from ..fakes.nvml import FakeGpu, FakeNvml, gpus

Install = Callable[..., FakeNvml]


def test_nvidia(install: Install) -> None:
    nvml = install(gpus(8))
    found = accelerators("cuda", [Device(3, "3", "NVIDIA H200", 143771.0)])
    assert found == {
        "arch": "cuda",
        "driver": "610.43",
        "cuda_driver": "13.2",
        "nvml": "13.610.43",
        "gpus": {
            "3": {
                "device": 3,
                "id": "3",
                "product": "NVIDIA H200",
                "memory": {"used": 600.0, "total": 143771.0},
                "uuid": nvml.gpus[3].uuid,
                "capability": "9.0",
                "vbios": "96.00.CF.00.02",
                "power_limit": 700.0,
                "clocks_max": {"sm": 1980, "memory": 3201},
                "pcie": {"bus_id": "00000000:18:00.0", "generation": 5, "width": 16},
                "ecc": True,
            }
        },
    }
    assert nvml.sessions == 0


def test_what_a_gpu_cannot_tell_is_left_out(install: Install) -> None:
    install([FakeGpu("T400", "GPU-0", power=None, total=None)])
    gpu = accelerators("cuda", [Device(0, "GPU-0", "T400", 4000.0)])["gpus"]["0"]
    assert "power_limit" not in gpu
    assert gpu["memory"] == {"used": 0.0, "total": 4000.0}
    assert gpu["uuid"] == "GPU-0"


def test_a_driver_that_has_died_leaves_what_was_detected(install: Install) -> None:
    install(init_error=pynvml.NVML_ERROR_UNKNOWN)
    found = accelerators("cuda", [Device(0, "0", "NVIDIA H200", 143771.0)])
    assert found == {
        "arch": "cuda",
        "gpus": {
            "0": {
                "device": 0,
                "id": "0",
                "product": "NVIDIA H200",
                "memory": {"used": 0.0, "total": 143771.0},
            }
        },
    }


def test_a_gpu_that_is_lost_meanwhile(install: Install) -> None:
    two = gpus(2)
    two[1].error = pynvml.NVML_ERROR_GPU_IS_LOST
    install(two)
    found = accelerators("cuda", [Device(i, str(i), "NVIDIA H200", 1.0) for i in range(2)])
    assert "uuid" in found["gpus"]["0"]
    assert "uuid" not in found["gpus"]["1"]


def test_cpu_slots_are_no_accelerators() -> None:
    assert accelerators("cpu", [Device(0, "0")]) == {"arch": "cpu", "gpus": {}}
