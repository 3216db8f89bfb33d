"""The price of a monitor field: a line where it is declared, and one in its back-end."""

import os
import subprocess
import sys

from tests.support.package_copy import REPOSITORY, PackageCopy

SAMPLE_AND_READ = """
import json
import sys
from pathlib import Path

from tests.fakes.nvml import FakeNvml, gpus
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.devices import Device
from milabench_ddp.results.read import read_events
from milabench_ddp.samples import gpudata

sys.modules["pynvml"] = FakeNvml(gpus(1))
with BACKENDS["cuda"].source([Device(0, "0")]) as read:
    line = json.dumps({"event": "data", "data": gpudata(0.0, read().samples)})
path = Path("b.data")
path.write_text(line)
print(read_events(path).samples["0"][0].clock)
"""


def test_a_monitor_field_is_two_lines(package_copy: PackageCopy) -> None:
    declaration = "    clock: float | None = None  # MHz"
    package_copy.add_line("milabench_ddp/samples.py", "power: float | None", declaration)
    sensor = (
        '    "clock": lambda nvml, handle: '
        "float(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),"
    )
    package_copy.add_line(
        "milabench_ddp/machine/backends/nvml_sensors.py", '"power": lambda', sensor
    )
    assert len(package_copy.touched) == 2
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE_AND_READ],
        env={**os.environ, "PYTHONPATH": f"{package_copy.source}:{REPOSITORY}"},
        cwd=package_copy.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("1980.0\n", "")
