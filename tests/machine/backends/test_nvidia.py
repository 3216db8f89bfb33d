from collections.abc import Callable

import pynvml
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.errors import MachineError
from milabench_ddp.machine.backends.nvidia import NvidiaBackend, visible_devices
from milabench_ddp.machine.backends.nvml import Gpu, Inventory
from milabench_ddp.machine.devices import Device
from tests.fakes.nvml import FakeGpu, FakeNvml, gpus

BACKEND = NvidiaBackend()
PCI = "PCI_BUS_ID"


def inventory(*names: str, problems: tuple[str, ...] = (), first: int = 0) -> Inventory:
    return Inventory(
        tuple(
            Gpu(Device(i, f"GPU-{i}-uuid", name, 80_000.0)) for i, name in enumerate(names, first)
        ),
        problems,
    )


ALIKE = inventory(*["H200"] * 8)
MIG = Inventory(
    (
        Gpu(Device(0, "GPU-0-uuid", "A100", 80_000.0)),
        Gpu(
            Device(1, "GPU-1-uuid", "A100", 80_000.0),
            True,
            (Device(1, "MIG-a", "A100", 40_000.0), Device(1, "MIG-b", "A100", 20_000.0)),
        ),
        Gpu(Device(2, "GPU-2-uuid", "A100", 80_000.0), mig=True),
    ),
    (),
)


def shown(known: Inventory, value: str | None = None, **environ: str) -> list[tuple[int, str]]:
    if value is not None:
        environ["CUDA_VISIBLE_DEVICES"] = value
    return [(device.index, device.id) for device in visible_devices(known, environ).devices]


def test_gpus_that_are_alike_go_by_index() -> None:
    assert shown(inventory("H200", "H200")) == [(0, "0"), (1, "1")]
    assert visible_devices(ALIKE, {}).notes == ()


def test_the_callers_order_and_form_are_kept() -> None:
    assert shown(ALIKE, "5,2") == [(5, "5"), (2, "2")]
    assert shown(ALIKE, "GPU-5,GPU-2-uuid") == [(5, "GPU-5-uuid"), (2, "GPU-2-uuid")]


@given(st.lists(st.integers(0, 7), unique=True, min_size=1))
def test_what_a_plan_sets_shows_the_same_again(chosen: list[int]) -> None:
    first = shown(ALIKE, ",".join(map(str, chosen)))
    assert [index for index, _ in first] == chosen
    assert shown(ALIKE, ",".join(id for _, id in first)) == first


def test_hidden_gpus_are_counted() -> None:
    found = visible_devices(ALIKE, {"CUDA_VISIBLE_DEVICES": ""})
    assert found.devices == ()
    assert found.notes == ("CUDA_VISIBLE_DEVICES='' leaves none of 8 GPUs visible",)


def test_gpus_that_differ_go_by_uuid() -> None:
    mixed = inventory("A100", "T400")
    assert shown(mixed) == [(0, "GPU-0-uuid"), (1, "GPU-1-uuid")]
    assert visible_devices(mixed, {}).notes == ()


def test_beside_a_gpu_that_is_left_out_the_others_go_by_uuid() -> None:
    known = inventory("H200", "H200", problems=("GPU 0 is left out: lost",), first=1)
    found = visible_devices(known, {"CUDA_VISIBLE_DEVICES": "0"})
    assert [(device.index, device.id) for device in found.devices] == [(1, "GPU-1-uuid")]
    assert found.notes == ("GPU 0 is left out: lost",)


def test_a_mig_device_is_its_uuid_and_its_own_memory() -> None:
    (device,) = visible_devices(MIG, {"CUDA_VISIBLE_DEVICES": "MIG-b"}).devices
    assert (device.index, device.id, device.memory_mib) == (1, "MIG-b", 20_000.0)


def test_mig_devices_of_one_gpu_are_numbered() -> None:
    assert shown(MIG, "MIG-b,MIG-a") == [(0, "MIG-b"), (1, "MIG-a")]


def test_a_gpu_in_mig_mode_stands_for_its_first_instance() -> None:
    (device,) = visible_devices(MIG, {"CUDA_VISIBLE_DEVICES": "1"}).devices
    assert (device.index, device.id, device.memory_mib) == (1, "MIG-a", 40_000.0)


@pytest.mark.parametrize(("value", "others"), [("2", []), ("0,2", [(0, "0")])])
def test_a_gpu_in_mig_mode_without_instances(value: str, others: list[tuple[int, str]]) -> None:
    assert shown(MIG, value) == others
    assert visible_devices(MIG, {"CUDA_VISIBLE_DEVICES": value}).notes == (
        "GPU 2 is left out: in MIG mode without an instance (nvidia-smi mig -cgi)",
    )


@pytest.mark.parametrize("value", [None, "0,1", "GPU-0,MIG-a", "MIG-a,GPU-0-uuid"])
def test_mig_devices_and_whole_gpus_together_are_refused(value: str | None) -> None:
    """What CUDA would show of them depends on their order, and is not both."""
    with pytest.raises(MachineError) as refusal:
        shown(MIG, value)
    advice = "Choose one kind, for example CUDA_VISIBLE_DEVICES="
    assert str(refusal.value).startswith("GPU 1 is in MIG mode and GPU 0 is whole: CUDA does not")
    assert shown(MIG, str(refusal.value).split(advice)[1])[0][0] == 0


def test_no_gpu() -> None:
    assert visible_devices(Inventory((), ()), {}).notes == ("the NVIDIA driver finds no GPU",)
    assert visible_devices(Inventory((), ("GPU 0 is left out: x",)), {}).notes == (
        "GPU 0 is left out: x",
    )


Install = Callable[..., FakeNvml]


def test_all_facts_of_a_gpu(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = install(gpus(8))
    own = nvml.gpus[3]
    own.pcie, own.nvlinks, own.fabric = (5, 8), (True,) * 18, (3, 0)
    found = BACKEND.accelerators([Device(3, "3", "NVIDIA H200", 143771.0)])
    pcie = {"bus_id": "00000000:18:00.0", "generation": 5, "width": 16}
    gpu = {
        "device": 3,
        "id": "3",
        "product": "NVIDIA H200",
        "memory": {"used": 600.0, "total": 143771.0},
        "uuid": nvml.gpus[3].uuid,
        "capability": "9.0",
        "vbios": "96.00.CF.00.02",
        "serial": "1650123456789",
        "power_limit": 700.0,
        "default_power_limit": 700.0,
        "clocks_max": {"sm": 1980, "memory": 3201},
        "pcie": {**pcie, "gpu_generation": 5, "current_width": 8},
        "nvlink": {"links": 18, "gb_s": 25.0, "switched": True},
        "fabric": "completed",
        "ecc": True,
        "mig": False,
        "persistence": True,
        "application_clock": 1755,
        "default_application_clock": 1980,
        "cpus": None,
    }
    drivers = {"driver": "610.43", "cuda_driver": "13.2", "nvml": "13.610.43"}
    assert found == {"arch": "cuda", "gpus": {"3": gpu}, **drivers}
    assert nvml.sessions == 0


def test_what_a_gpu_cannot_tell_is_not_known(install: Install) -> None:
    install([FakeGpu("T400", "GPU-0", power=None, total=None)])
    gpu = BACKEND.accelerators([Device(0, "GPU-0", "T400", 4000.0)])["gpus"]["0"]
    assert gpu["power_limit"] is None
    assert gpu["memory"] == {"used": 0.0, "total": 4000.0}
    assert gpu["uuid"] == "GPU-0"


def test_a_driver_that_has_died_leaves_what_was_detected(install: Install) -> None:
    install(init_error=pynvml.NVML_ERROR_UNKNOWN)
    found = BACKEND.accelerators([Device(0, "0", "NVIDIA H200", 143771.0)])
    gpu = {"device": 0, "id": "0", "product": "NVIDIA H200", "cpus": None}
    gpu["memory"] = {"used": 0.0, "total": 143771.0}
    assert found == {"arch": "cuda", "gpus": {"0": gpu}}


def test_a_gpu_that_is_lost_meanwhile(install: Install) -> None:
    two = gpus(2)
    two[1].error = pynvml.NVML_ERROR_GPU_IS_LOST
    install(two)
    found = BACKEND.accelerators([Device(i, str(i), "NVIDIA H200", 1.0) for i in range(2)])
    assert found["gpus"]["0"]["uuid"] == two[0].uuid
    assert "uuid" not in found["gpus"]["1"]


def test_indices_count_in_the_order_of_nvml() -> None:
    assert BACKEND.environment([Device(0, "0"), Device(3, "3")]) == {"CUDA_DEVICE_ORDER": PCI}
    assert BACKEND.environment([Device(0, "0"), Device(3, "GPU-3")]) == {}
