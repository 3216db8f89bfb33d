import os

from milabench_ddp.machine.backends.cpu import DEFAULT_SLOTS, CpuBackend
from milabench_ddp.machine.devices import Device

CPU = CpuBackend()


def test_slots_share_out_the_cores() -> None:
    (slot,) = CPU.discover({}, 1).devices
    assert set(slot.cpus) == os.sched_getaffinity(0)
    assert len(CPU.discover({}, None).devices) == DEFAULT_SLOTS


def test_more_slots_than_cores_are_not_bound() -> None:
    slots = len(os.sched_getaffinity(0)) + 1
    assert [device.cpus for device in CPU.discover({}, slots).devices] == [()] * slots


def test_slots_hide_the_gpus() -> None:
    assert (CPU.visibility_variable, CPU.visibility_value([Device(0, "0")])) == (
        "CUDA_VISIBLE_DEVICES",
        "",
    )


def test_slots_are_no_accelerators_and_have_no_sensors() -> None:
    assert CPU.accelerators([Device(0, "0")]) == {"arch": "cpu", "gpus": {}}
    assert CPU.source([Device(0, "0")]) is None
