"""The whole way down: the real pynvml over a stub of NVIDIA's C library, in its own process."""

import json
import subprocess
import sys
from ctypes.util import find_library
from pathlib import Path
from typing import Any

import pytest

from tests.support.nvml_stub import stub_environment

ROOT = Path(__file__).parents[3]

SCRIPT = """
import json, os
from milabench_ddp.codec import plain
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.samples import gpudata
found = detect(None, None, os.environ)
devices = found.nodes[0].devices
backend = BACKENDS[found.arch]
readings = []
if found.has_gpu:
    with backend.source(devices) as read:
        readings = [read() for _ in range(3)]
print(json.dumps({
    "arch": found.arch,
    "notes": found.nodes[0].notes,
    "devices": [[d.index, d.id, d.name, d.memory_mib] for d in devices],
    "samples": [gpudata(0, r.samples)["gpudata"] for r in readings],
    "problems": [len(r.problems) for r in readings],
    "accelerators": plain(backend.accelerators(devices)),
}))
"""


def detect(library: Path, *statements: str, **environ: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=ROOT,
        env=stub_environment(library, *statements, **environ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_two_gpus(nvml_library: Path) -> None:
    found = detect(nvml_library)
    assert found["arch"] == "cuda"
    assert found["notes"] == []
    assert found["devices"] == [[i, str(i), "NVIDIA Stub", 81920.0] for i in range(2)]
    first = {"memory": [1024.0, 81920.0], "load": 0.5, "temperature": 40.0, "power": 300.0}
    assert found["samples"][0]["0"].items() >= first.items()
    gpu = found["accelerators"]["gpus"]["1"]
    assert found["accelerators"]["cuda_driver"] == "13.2"
    assert (gpu["power_limit"], gpu["default_power_limit"]) == (700.0, 700.0)
    assert gpu["vbios"] is None  # the stub, as an old driver, has no such function


def test_the_cores_next_to_a_gpu_are_recorded_also_where_none_may_be_used(
    nvml_library: Path,
) -> None:
    found = detect(nvml_library, "1 cpus f000000000000000")
    assert [found["accelerators"]["gpus"][index]["cpus"] for index in "01"] == [None, "60-63"]


def test_the_library_opens_by_uuid(nvml_library: Path) -> None:
    found = detect(nvml_library, CUDA_VISIBLE_DEVICES="GPU-1111,GPU-0")
    assert [id[:8] for _, id, _, _ in found["devices"]] == ["GPU-1111", "GPU-0000"]
    assert found["samples"][0]["1"]["memory"] == [2048.0, 81920.0]
    assert found["problems"] == [0, 0, 0]


def test_a_driver_of_another_version(nvml_library: Path) -> None:
    found = detect(nvml_library, "system init 18")
    assert found["arch"] == "cpu"
    assert "restart the machine" in found["notes"][0]


def test_no_library(tmp_path: Path) -> None:
    if find_library("nvidia-ml"):
        pytest.skip("this machine has the real library")
    found = detect(tmp_path)
    assert found["arch"] == "cpu"
    assert "libnvidia-ml.so.1 was not found" in found["notes"][0]
