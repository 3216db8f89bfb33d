"""The other vendors: the rules as pure functions, and voir's own code over a fake library."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.amd import AmdBackend
from milabench_ddp.machine.backends.backend import DriverError
from milabench_ddp.machine.backends.voir import (
    HabanaBackend,
    IntelBackend,
    VoirBackend,
    open_library,
    sample,
)
from milabench_ddp.machine.devices import Device
from milabench_ddp.samples import DeviceProblem, DeviceSample

FAKES = Path(__file__).parents[2] / "fakes"
AMD = AmdBackend()
EIGHT = [Device(i, str(i), "MI300X", 192_000, uuid=f"GPU-{i:x}f05{i:012x}") for i in range(8)]


def shown(name: str, **environ: str) -> list[tuple[int, str]]:
    backend = BACKENDS[name]
    assert isinstance(backend, VoirBackend)
    return [(device.index, device.id) for device in backend.visible_devices(EIGHT, environ).devices]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, [(i, str(i)) for i in range(8)]),
        ({"HIP_VISIBLE_DEVICES": "5,3"}, [(5, "5"), (3, "3")]),
        ({"CUDA_VISIBLE_DEVICES": "5"}, [(5, "5")]),
        ({"CUDA_VISIBLE_DEVICES": "5", "HIP_VISIBLE_DEVICES": "2"}, [(2, "2")]),
        # What ROCR leaves is counted from 0 again, and HIP's variable chooses from that.
        ({"ROCR_VISIBLE_DEVICES": "6,4"}, [(6, "0"), (4, "1")]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-5f,GPU-3"}, [(5, "0"), (3, "1")]),
        ({"ROCR_VISIBLE_DEVICES": "6,4,2", "HIP_VISIBLE_DEVICES": "2,0"}, [(2, "2"), (6, "0")]),
    ],
)
def test_amds_variables(environ: dict[str, str], expected: list[tuple[int, str]]) -> None:
    assert shown("rocm", **environ) == expected


def test_habanas_and_intels_variables() -> None:
    assert shown("hpu", HABANA_VISIBLE_MODULES="1,0") == [(1, "1"), (0, "0")]
    assert shown("xpu", ZE_AFFINITY_MASK="7") == [(7, "7")]


def test_all_hidden() -> None:
    found = AMD.visible_devices(EIGHT, {"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "2"})
    assert found.devices == ()
    assert found.notes == ("HIP_VISIBLE_DEVICES='2' leaves none of 2 devices visible",)


def test_a_vendor_whose_package_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = SimpleNamespace(is_installed=lambda: False, IMPORT_ERROR="No module named 'pyhlml'")
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.hpu", absent)
    assert HabanaBackend().discover({}, None).notes == (
        "no Habana device: its Python package is not installed (No module named 'pyhlml')",
    )


def test_a_vendor_whose_driver_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise SystemExit(8)

    dead = SimpleNamespace(is_installed=lambda: True, DeviceSMI=fail)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", dead)
    assert AMD.discover({}, None).notes == (
        "no AMD device: its driver does not answer (SystemExit(8))",
    )


def test_a_vendor_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    smi = SimpleNamespace(get_gpus_info=lambda selection: {}, close=lambda: None)
    empty = SimpleNamespace(is_installed=lambda: True, DeviceSMI=lambda: smi)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", empty)
    assert AMD.discover({}, None).notes == ("no AMD device",)


@pytest.mark.parametrize("error", [OSError("gone"), SystemExit(8)])
def test_whatever_a_binding_raises_is_one_error(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(selection: Any) -> None:
        raise error

    library = SimpleNamespace(get_gpus_info=fail, close=lambda: None)
    module = SimpleNamespace(is_installed=lambda: True, DeviceSMI=lambda: library)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", module)
    with open_library("rocm") as read, pytest.raises(DriverError, match=r"gone|SystemExit\(8\)"):
        read()


def test_signs(tmp_path: Path) -> None:
    backends = (AMD, HabanaBackend(), IntelBackend())
    assert not any(backend.may_be_present(tmp_path) for backend in backends)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    (tmp_path / "dev/hl0").touch()
    assert [backend.may_be_present(tmp_path) for backend in backends] == [True, True, False]


DETECT = """
import json, os
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.samples import gpudata
cluster = detect("hpu", 2, os.environ)
devices = cluster.nodes[0].devices
backend = BACKENDS["hpu"]
with backend.source(devices) as read:
    reading = read()
print(json.dumps({
    "devices": [[d.index, d.id, d.name, d.memory_mib] for d in devices],
    "samples": gpudata(0, reading.samples)["gpudata"],
    "used": [gpu["memory"]["used"] for gpu in backend.accelerators(devices)["gpus"].values()],
}))
"""


def test_voirs_back_end_end_to_end() -> None:
    environ = os.environ | {"HABANA_VISIBLE_MODULES": "3,1,0", "PYTHONPATH": str(FAKES / "habana")}
    done = subprocess.run(
        [sys.executable, "-c", DETECT],
        env=environ,
        cwd=FAKES.parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert said["devices"] == [[3, "3", "HL-225", 98304.0], [1, "1", "HL-225", 98304.0]]
    assert said["samples"] == {
        "3": {"memory": [768.0, 98304.0], "load": 0.3, "temperature": 33.0, "power": 90.0},
        "1": {"memory": [768.0, 98304.0], "load": 0.1, "temperature": 31.0, "power": 90.0},
    }
    assert said["used"] == [768.0, 768.0]


ENTRY = {
    "memory": {"used": 300, "total": 192_000},
    "utilization": {"compute": 0.25},
    "temperature": 44,
    "power": 120,
}


class Smi:
    """voir's DeviceSMI, with one device."""

    def __init__(self) -> None:
        self.closed = False
        self.error: Exception | None = None

    def get_gpus_info(self, selection: Any) -> dict[int, Any]:
        if self.error:
            raise self.error
        return {0: ENTRY}

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> Smi:
    device = Smi()
    module = SimpleNamespace(is_installed=lambda: True, DeviceSMI=lambda: device)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", module)
    return device


def test_the_devices_in_use(smi: Smi) -> None:
    with AMD.source([Device(0, "0"), Device(1, "1")]) as read:
        reading = read()
    assert reading.samples == {0: DeviceSample((300.0, 192_000.0), 0.25, 44.0, 120.0)}
    assert reading.problems == (DeviceProblem("device 1 gives no samples", 1, is_lost=True),)
    assert smi.closed


def test_a_library_that_fails(smi: Smi) -> None:
    with AMD.source([Device(0, "0")]) as read:
        smi.error = OSError("gone")
        with pytest.raises(DriverError, match="gone"):
            read()


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = SimpleNamespace(is_installed=lambda: False, IMPORT_ERROR="No module named 'x'")
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", absent)
    with pytest.raises(DriverError, match="not installed"), AMD.source([Device(0, "0")]):
        pass


def test_voirs_mark_of_the_unknown_is_left_out() -> None:
    entry = {**ENTRY, "power": -0.001, "temperature": -1.0}
    assert sample(entry) == DeviceSample((300.0, 192_000.0), load=0.25)
