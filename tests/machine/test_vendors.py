"""The other vendors: the rules as pure functions, and voir's real back-end over a fake library."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from milabench_ddp.machine.vendors import Backend, VendorError, find_vendor, sign_of, visible

FAKES = Path(__file__).parents[1] / "fakes"
EIGHT = {i: {"product": "MI300X", "memory": {"used": 1, "total": 192_000}} for i in range(8)}


def shown(arch: str, **environ: str) -> list[tuple[int, str]]:
    return [(device.index, device.id) for device in visible(arch, EIGHT, environ).devices]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, [(i, str(i)) for i in range(8)]),
        ({"HIP_VISIBLE_DEVICES": "5,3"}, [(5, "5"), (3, "3")]),
        ({"CUDA_VISIBLE_DEVICES": "5"}, [(5, "5")]),
        ({"CUDA_VISIBLE_DEVICES": "5", "HIP_VISIBLE_DEVICES": "2"}, [(2, "2")]),
        # What ROCR leaves is counted from 0 again, and HIP's variable chooses from that.
        ({"ROCR_VISIBLE_DEVICES": "6,4"}, [(6, "0"), (4, "1")]),
        ({"ROCR_VISIBLE_DEVICES": "6,4,2", "HIP_VISIBLE_DEVICES": "2,0"}, [(2, "2"), (6, "0")]),
    ],
)
def test_amds_variables(environ: dict[str, str], expected: list[tuple[int, str]]) -> None:
    assert shown("rocm", **environ) == expected


def test_habanas_and_intels_variables() -> None:
    assert shown("hpu", HABANA_VISIBLE_MODULES="1,0") == [(1, "1"), (0, "0")]
    assert shown("xpu", ZE_AFFINITY_MASK="7") == [(7, "7")]


def test_all_hidden() -> None:
    found = visible("rocm", EIGHT, {"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "2"})
    assert found.devices == ()
    assert found.notes == ("HIP_VISIBLE_DEVICES='2' leaves none of 2 devices visible",)


def test_a_vendor_whose_package_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = SimpleNamespace(is_installed=lambda: False, IMPORT_ERROR="No module named 'pyhlml'")
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.hpu", absent)
    assert find_vendor("hpu", {}).notes == (
        "no Habana device: its Python package is not installed (No module named 'pyhlml')",
    )


def test_a_vendor_whose_driver_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise SystemExit(8)

    dead = SimpleNamespace(is_installed=lambda: True, DeviceSMI=fail)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", dead)
    assert find_vendor("rocm", {}).notes == (
        "no AMD device: its driver does not answer (SystemExit(8))",
    )


def test_a_vendor_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    smi = SimpleNamespace(get_gpus_info=lambda selection: {}, close=lambda: None)
    empty = SimpleNamespace(is_installed=lambda: True, DeviceSMI=lambda: smi)
    monkeypatch.setitem(sys.modules, "voir.instruments.gpu.rocm", empty)
    assert find_vendor("rocm", {}).notes == ("no AMD device",)


@pytest.mark.parametrize("error", [OSError("gone"), SystemExit(8)])
def test_whatever_a_binding_raises_is_one_error(error: BaseException) -> None:
    def fail(selection: Any) -> None:
        raise error

    with pytest.raises(VendorError, match=r"gone|SystemExit\(8\)"):
        Backend(SimpleNamespace(get_gpus_info=fail)).read()


def test_signs(tmp_path: Path) -> None:
    assert not any(sign_of(arch, tmp_path) for arch in ("rocm", "hpu", "xpu"))
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    (tmp_path / "dev/hl0").touch()
    assert [sign_of(arch, tmp_path) for arch in ("rocm", "hpu", "xpu")] == [True, True, False]


DETECT = """
import json, os
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.accelerators import accelerators
from milabench_ddp.monitor.sampler import source_for
cluster = detect("hpu", 2, os.environ).cluster
devices = cluster.nodes[0].devices
source = source_for("hpu", devices)
source.open()
reading = source.read()
source.close()
print(json.dumps({
    "devices": [[d.index, d.id, d.name, d.memory_mib] for d in devices],
    "samples": {i: sample.payload() for i, sample in reading.samples.items()},
    "gpus": accelerators("hpu", devices)["gpus"],
}))
"""


def test_voirs_back_end_end_to_end() -> None:
    environ = os.environ | {"HABANA_VISIBLE_MODULES": "3,1,0", "PYTHONPATH": str(FAKES / "habana")}
    done = subprocess.run(
        [sys.executable, "-c", DETECT],
        env=environ,
        cwd=FAKES.parents[1],
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
    assert said["gpus"]["3"]["memory"] == {"used": 768.0, "total": 98304.0}
