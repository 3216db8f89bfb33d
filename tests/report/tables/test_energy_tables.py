"""The energy of a unit of work, from runs whose power and rate are known."""

import json
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables.energy_tables import energy as energy_by_device
from milabench_ddp.report.tables.energy_tables import energy_total as energy
from tests.support.formats import sweep_text, table_text
from tests.support.result_files import config, end, job, sampled, start, timed_rates, write

RATE = 100.0


def drawing(seconds: int, watts: dict[str, float], **changes: Any) -> str:
    """What devices of so many watts tell, from 3 s before the window until 3 s after it."""
    told = ""
    for second in range(-3, seconds + 3):
        time = second + 0.5
        told += sampled(
            1000 + time,
            **{
                device: {"power": power, "energy": 5e6 + int(time * 10) / 10 * power} | changes
                for device, power in watts.items()
            },
        )
    return told


def job_of(folder: Path, told: str, seconds: int = 60, ranks: int = 2) -> Path:
    rates = timed_rates([RATE] * seconds)
    write(folder, "b.0", job("b", ranks), start(), told, rates, end(0, outcome="ok"))
    return folder


def test_a_job_takes_what_all_its_devices_draw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job_of(tmp_path, drawing(60, {"d0": 400.0, "d1": 300.0}))
    report = report_of([tmp_path])
    (row,) = energy(report.rows).rows
    assert row[:3] == ("b", 2, pytest.approx(700.0))
    assert (float(row[3]), row[4]) == (pytest.approx(7.0), "item")
    assert (
        "b         |    2 | 700.0 | 7.000 ±0.010 | item"
        in table_text(energy(report.rows)).splitlines()
    )
    assert "(of the GPU boards, not of the node" in table_text(energy(report.rows))
    devices = [(row[1], float(row[3])) for row in energy_by_device(report.rows).rows]
    assert devices == [("GPU 0", pytest.approx(8.0)), ("GPU 1", pytest.approx(6.0))]
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["benchmarks"][0]["energy"]
    assert (found["unit"], found["joules"]) == ("item", pytest.approx(7.0))
    assert "7.000 ±0.010" in sweep_text(sweep_of(report, "joules"))


def test_processes_that_are_alone_on_their_devices(tmp_path: Path) -> None:
    for device, watts in enumerate((400.0, 300.0)):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        told = drawing(60, {f"d{device}": watts})
        rates = timed_rates([RATE] * 60)
        write(tmp_path, f"b.D{device}", settings, start(), told, rates, end(0, outcome="ok"))
    rows = report_of([tmp_path]).rows
    (row,) = energy(rows).rows
    assert (row[2], float(row[3])) == (pytest.approx(700.0), pytest.approx(3.5))
    devices = [float(row[3]) for row in energy_by_device(rows).rows]
    assert devices == [pytest.approx(4.0), pytest.approx(3.0)]


def test_a_job_over_nodes_counts_each_device_once(tmp_path: Path) -> None:
    for repeat in range(2):
        for node in range(2):
            tag = ["b", f"R{repeat}", "0", f"node{node}", *(["nolog"] if node else [])]
            told = drawing(60, {"d0": 400.0, "d1": 300.0})
            rates = "" if node else timed_rates([RATE] * 60)
            settings = job("b", nodes=2, tag=tag)
            ended = end(0, outcome="ok")
            write(tmp_path, ".".join(tag), settings, start(), told, rates, ended)
    rows = report_of([tmp_path]).rows
    (row,) = energy(rows).rows
    assert (row[1], row[2], float(row[3])) == (4, pytest.approx(1400.0), pytest.approx(14.0))
    labels = [row[1] for row in energy_by_device(rows).rows]
    assert labels == [f"GPU {device} of node{node}" for node in range(2) for device in range(2)]


def test_below_5_s_there_is_none(tmp_path: Path) -> None:
    report = report_of([job_of(tmp_path, drawing(4, {"d0": 400.0, "d1": 300.0}), 4)])
    assert "b         |    2 | - | -" in table_text(energy(report.rows))
    assert "(measured for less than 5 s: b)" in table_text(energy(report.rows))
    assert energy_by_device(report.rows).rows == ()


def test_a_sum_that_lacks_a_device_is_not_told(tmp_path: Path) -> None:
    assert not energy(report_of([job_of(tmp_path, drawing(60, {"d0": 400.0}))]).rows)


def test_both_ways_are_shown_where_they_differ(tmp_path: Path) -> None:
    near = job_of(tmp_path / "near", drawing(60, {"d0": 400.0}, power=416.0), ranks=1)
    assert "J by power" not in table_text(energy(report_of([near]).rows))
    far = job_of(tmp_path / "far", drawing(60, {"d0": 400.0}, power=430.0), ranks=1)
    (row,) = energy(report_of([far]).rows).rows
    assert (float(row[3]), float(row[5])) == (pytest.approx(4.0), pytest.approx(4.3))
    assert "samples of the power differ from it" in table_text(energy(report_of([far]).rows))


def test_without_a_counter_samples_of_the_power_tell(tmp_path: Path) -> None:
    told = drawing(60, {"d0": 400.0, "d1": 300.0}, energy=None)
    (row,) = energy(report_of([job_of(tmp_path, told)]).rows).rows
    assert float(row[3]) == pytest.approx(7.0)


def test_jobs_that_share_a_device_share_its_energy(tmp_path: Path) -> None:
    for number in range(2):
        settings, told = job("b", 1, tag=["b", str(number)]), drawing(60, {"d0": 300.0})
        rates = timed_rates([RATE] * 60)
        write(tmp_path, f"b.{number}", settings, start(), told, rates, end(0, outcome="ok"))
    rows = report_of([tmp_path]).rows
    for (row,) in (energy(rows).rows, energy_by_device(rows).rows):
        assert (row[2], float(row[3])) == (pytest.approx(300.0), pytest.approx(1.5))


@pytest.mark.parametrize("watts", [0.0, -5.0])
def test_a_sensor_that_does_not_work_tells_no_energy(tmp_path: Path, watts: float) -> None:
    told = "".join(sampled(1000.5 + second, d0={"power": watts}) for second in range(60))
    rows = report_of([job_of(tmp_path, told, ranks=1)]).rows
    assert energy(rows).rows == energy_by_device(rows).rows == ()


def test_too_little_energy_to_divide_by_is_shown_as_none(tmp_path: Path) -> None:
    told = "".join(sampled(1000.5 + k, d0={"energy": k * 1e-290}) for k in range(60))
    settings, rates = job("b", 1), timed_rates([1e99] * 60)
    write(tmp_path, "b.0", settings, start(), told, rates, end(0, outcome="ok"))
    assert "Energy" in table_text(energy(report_of([tmp_path]).rows))
