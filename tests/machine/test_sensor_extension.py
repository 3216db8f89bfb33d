"""The price of a sensor: where it is declared, and where its back-end reads it; faces follow."""

import os
import subprocess
import sys

from tests.support.package_copy import REPOSITORY, PackageCopy
from tests.support.result_files import config, end, sampled, start, timed_rates, write

SAMPLE = """
import json
import sys

from tests.fakes.nvml import FakeNvml, gpus
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.devices import Device
from milabench_ddp.samples import gpudata

sys.modules["pynvml"] = FakeNvml(gpus(1))
with BACKENDS["cuda"].source([Device(0, "0")]) as read:
    print(json.dumps(gpudata(0.0, read().samples)["gpudata"]["0"]))
"""
DECLARED = (
    '    top: Annotated[float | None, Sensor("top", "its highest clock", "MHz", "mean_top", '
    '"top MHz", chart="Top clock")] = None'
)
READ = (
    '    "top": lambda nvml, handle: '
    "float(nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)),"
)


def test_a_sensor_is_declared_and_read(package_copy: PackageCopy) -> None:
    package_copy.add_line("milabench_ddp/samples.py", "# A sensor of devices is added", DECLARED)
    package_copy.add_line("milabench_ddp/machine/backends/nvml_sensors.py", '"power": lambda', READ)
    assert len(package_copy.touched) == 2
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE],
        env={**os.environ, "PYTHONPATH": f"{package_copy.source}:{REPOSITORY}"},
        cwd=package_copy.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert '"top": 1980.0' in done.stdout, done.stderr

    seen = [sampled(1000.5 + k, d0={"top": 1900.0 + k}) for k in range(20)]
    settings = config("b", device=0, tag=["b", "D0"])
    rated = timed_rates([5.0] * 20)
    write(package_copy.folder / "run", "b.D0", settings, start(), *seen, rated, end(outcome="ok"))
    table = package_copy.milabench("report", "run", "--table", "devices").out
    assert table.splitlines()[-2].split()[-2:] == ["top", "MHz"]
    assert table.splitlines()[-1].split()[-1] == "1910"
    assert '"mean_top": 1909.5' in package_copy.milabench("report", "run", "--format", "json").out
    assert "Top clock" in package_copy.milabench("report", "run", "--format", "html").out
    package_copy.milabench("export", "run", "--to", "csv", "samples.csv", "--table", "samples")
    head, first, *_ = (package_copy.folder / "samples.csv").read_text().splitlines()
    assert dict(zip(head.split(","), first.split(","), strict=True))["top"] == "1900.0"
