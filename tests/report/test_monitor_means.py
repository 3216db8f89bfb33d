"""What the monitor saw, from samples whose values are known."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.monitor_means import device_means, host_means
from tests.support.host_runs import run_of
from tests.support.result_files import config, end, sampled, start, timed_rates, write


def test_devices_in_the_measured_steps(tmp_path: Path) -> None:
    """Before and after the 20 s of measured steps the device draws more, and is hotter."""
    told = ""
    for second in range(-5, 25):
        measures = 0 <= second < 20
        reading = {
            "memory": [50.0 if measures else 70.0, 80000.0], "load": 0.9,
            "temperature": 60.0 if measures else 80.0, "power": 500.0 if measures else 700.0,
            "pcie": [10.0, 2.0],
        }  # fmt: skip
        told += sampled(1000.5 + second, d3=reading)
    values = timed_rates([100.0] * 20)
    write(tmp_path, "b.D3", config("b", device=3), start(), told, values, end())
    (row,) = report_of([tmp_path]).rows
    (seen,) = device_means(row)
    assert (seen.device, seen.node, seen.samples) == ("3", "", 30)
    assert (seen.power, seen.load) == pytest.approx((500.0, 0.9))
    assert (seen.peak_memory, seen.max_temperature) == (70.0, 80.0)  # while it was in use
    assert (seen.pcie_out, seen.pcie_in) == (10.0, 2.0)
    assert math.isnan(seen.nvlink_out)
    assert seen.held_down_by == ""


def test_hosts_in_the_measured_steps(tmp_path: Path) -> None:
    (row,) = run_of(tmp_path, cpu=0.97).rows
    first, second = host_means(row)
    assert (first.node, second.node) == ("node0", "node1")
    assert (first.cpu, second.cpu) == pytest.approx((0.5, 0.97))
    assert (first.peak_memory, first.memory) == (100.0, 1000.0)
    assert (first.read, first.written, first.received, first.sent) == (3.0, 1.0, 7.0, 9.0)
