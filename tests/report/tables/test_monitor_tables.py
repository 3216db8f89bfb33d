"""What devices and hosts did while a benchmark ran, from samples whose values are known."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.tables.monitor_tables import (
    DEVICE_MEANS,
    HOST_MEANS,
    devices,
    traffic,
    watched_devices,
    watched_hosts,
)
from tests.support.formats import table_text
from tests.support.host_runs import run_of
from tests.support.rates import noisy
from tests.support.result_files import (
    config,
    end,
    job,
    line,
    rates,
    sampled,
    start,
    timed_rates,
    write,
)


def samples(*readings: Any, device: int = 0) -> str:
    """Samples of a device: memory in use, load, temperature and power."""
    found = ""
    for used, load, *more in readings:
        known = dict(zip(("temperature", "power"), more, strict=False))
        gpudata = {str(device): {"memory": [used, 80000.0], "load": load, **known}}
        found += line("data", {"task": "main", "time": 1.0, "gpudata": gpudata}, "data")
    return found


def test_each_device_of_each_node(tmp_path: Path) -> None:
    seen = {
        ("node0", 0): [
            (10.0, 0.5, 60.0, 300.0),
            (30.0, 1.0, 71.0, 500.0),
            (20.0, 0.9, 66.0, 400.0),
        ],
        ("node0", 1): [(10.0, 0.5, 62.0, 300.0)],
        ("node1", 0): [(10.0, 0.5, 88.0, 200.0)],
    }
    for (node, device), readings in seen.items():
        tag = ["b", f"D{device}", node]
        settings = config("b", device=device, tag=tag)
        idle = (99.0, 0.0, 99.0, 99.0)  # before and after the benchmark
        told = samples(idle, *readings, idle, device=device)
        write(tmp_path, ".".join(tag), settings, start(), told, rates([1.0] * 3), end())
    table = devices(report_of([tmp_path]).rows)
    names = [column.name for column in table.columns]
    assert names == [
        "benchmark",
        "device",
        "node",
        "rate",
        "unit",
        "from median",
        "samples",
        "peak_memory",
        "load",
        "max C",
        "power W",
    ]
    assert table.rows == (
        ("b", "0", "node0", 1.0, "items/s", 0.0, 3, 30.0, pytest.approx(0.8), 71.0, 400.0),
        ("b", "1", "node0", 1.0, "items/s", 0.0, 1, 10.0, 0.5, 62.0, 300.0),
        ("b", "0", "node1", 1.0, "items/s", 0.0, 1, 10.0, 0.5, 88.0, 200.0),
    )


def test_the_devices_of_a_job_over_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for repeat in range(2):
        tag = ["b", f"R{repeat}", "0"]
        told = [
            samples((10.0 + device, 1.0, 50.0 + 20 * repeat), device=device) for device in (10, 2)
        ]
        write(tmp_path, ".".join(tag), job("b", tag=tag), start(), *told, rates([1.0]), end())
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["benchmarks"][0]["devices"]
    assert (first["device"], second["device"]) == ("2", "10")
    assert first["max_temperature"] == 70.0
    assert main(["report", str(tmp_path), "--table", "devices"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Devices",
        "-------",
        "benchmark | device | samples | peak_memory |   load | max C",
        "b         | 2      |       2 |          12 | 100.0% |    70",
        "b         | 10     |       2 |          20 | 100.0% |    70",
    ]


def test_all_that_devices_can_tell_is_two_tables_of_a_readable_width(tmp_path: Path) -> None:
    reading = {
        "memory": [70000.0, 81559.0], "load": 1.0, "temperature": 66.0, "power": 612.3,
        "power_limit": 700.0, "sm_clock": 1755, "memory_clock": 2619, "memory_temperature": 81.0,
        "clock_reasons": ["sw_power_cap", "sw_thermal_slowdown"], "headroom": 21.0,
        "pcie": [10250.5, 2250.0], "nvlink": [182500.0, 182400.0],
    }  # fmt: skip
    name = "gpt-ddp-inductor-bf16"
    for device in range(8):
        own = {**reading, "power": 600.0 + device, "sm_clock": 1700 + 10 * device}
        told = "".join(sampled(1000.5 + k, **{f"d{device}": own}) for k in range(9))
        tag = [name, f"D{device}", "node-with-a-name"]
        settings = config(name, device=device, tag=tag)
        write(tmp_path, ".".join(tag), settings, start(), told, timed_rates([9.0] * 9), end())
    report = report_of([tmp_path])
    for table, alike in ((devices, ("cap W 700", "memory MHz 2619")), (traffic, ())):
        text = table_text(table(report.rows), 120)
        assert max(map(len, text.splitlines())) <= 120
        assert len(table(report.rows).rows) == 8
        assert all(each in text for each in alike)
    (row,) = json.loads(report_json(report))["benchmarks"]
    assert len(row["devices"]) == 8
    first = {"device": "0", "power_limit": 700.0, "power": 600.0, "nvlink_out": 182500.0}
    assert row["devices"][0].items() >= first.items()


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
    (seen,) = DEVICE_MEANS.of_each(watched_devices(row))
    assert (seen.device, seen.node, seen.samples) == ("3", "", 30)
    assert (seen.power, seen.load) == pytest.approx((500.0, 0.9))
    assert (seen.peak_memory, seen.max_temperature) == (70.0, 80.0)  # while it was in use
    assert (seen.pcie_out, seen.pcie_in) == (10.0, 2.0)
    assert math.isnan(seen.nvlink_out)
    assert seen.held_down_by == ""


def test_hosts_in_the_measured_steps(tmp_path: Path) -> None:
    (row,) = run_of(tmp_path, cpu=0.97).rows
    first, second = HOST_MEANS.of_each(watched_hosts(row))
    assert (first.node, second.node) == ("node0", "node1")
    assert (first.cpu, second.cpu) == pytest.approx((0.5, 0.97))
    assert (first.peak_memory, first.memory) == (100.0, 1000.0)
    assert (first.read, first.written, first.received, first.sent) == (3.0, 1.0, 7.0, 9.0)


def test_each_device_has_its_rate_also_where_nothing_watches_it(tmp_path: Path) -> None:
    """Programs of someone else on CPU slots; two launches, and one device measures nothing."""
    for device, levels in enumerate([(100.0, 102.0), (90.0, 92.0), (110.0, 112.0), ()]):
        for repeat, level in enumerate(levels):
            tag = ["b", f"R{repeat}", f"D{device}"]
            told = rates(noisy(60, 0.0, device, level))
            settings = config("b", device=device, tag=tag)
            write(tmp_path, ".".join(tag), settings, start(), told, end(0))
    table = devices(report_of([tmp_path]).rows)
    assert [column.name for column in table.columns][1:] == [
        "device", "rate", "unit", "from median",
    ]  # fmt: skip
    rated = {row[1]: (float(row[2]), float(row[4])) for row in table.rows}
    assert rated == {
        "0": (pytest.approx(101, rel=0.006), pytest.approx(0.0)),
        "1": (pytest.approx(91, rel=0.006), pytest.approx(-10 / 101, abs=0.006)),
        "2": (pytest.approx(111, rel=0.006), pytest.approx(10 / 101, abs=0.006)),
    }


def test_the_rate_of_a_lone_device_has_no_median_and_that_of_a_job_is_not_of_its_devices(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a.D0", config("a", device=0), start(), rates([5.0] * 60), end(0))
    write(tmp_path, "b.0", job("b", 2), start(), rates([5.0] * 60), samples((9.0, 0.5)), end(0))
    of_a, of_b = (watched_devices(row) for row in report_of([tmp_path]).rows)
    assert [(each.rate, math.isnan(each.from_median)) for each in of_a] == [(5.0, True)]
    assert [(math.isnan(each.rate), each.unit) for each in of_b] == [(True, "")]
