"""Scores of benchmarks whose values are known."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.process import ProcessResult
from milabench_ddp.report.score import machine_rate
from milabench_ddp.results.read_run import read_run
from tests.support.devices_that_end import FAILED, OK, devices
from tests.support.result_files import config, job, rates, start, write


def rate_of(folder: Path) -> float:
    run = read_run(folder)
    return machine_rate([ProcessResult(run, record) for record in run.records])


@pytest.mark.parametrize("measured", ["", "F......."])
@pytest.mark.parametrize("flipped", [1, -1])
def test_a_dead_device_of_eight_counts_once(tmp_path: Path, measured: str, flipped: int) -> None:
    """Whether it died before its first rate or later, and whether it is the first or the last."""
    folder = devices(tmp_path, "F......."[::flipped], measured=measured[::flipped])
    assert rate_of(folder) == 70.0


def test_all_devices_dead_is_zero_and_nothing_measured_is_unknown(tmp_path: Path) -> None:
    assert rate_of(devices(tmp_path / "late", "FF")) == 0.0
    assert math.isnan(rate_of(devices(tmp_path / "early", "FF", measured="FF")))


def test_a_repeat_that_failed_counts_as_zero_in_its_device(tmp_path: Path) -> None:
    for repeat, how in enumerate((OK, OK, OK, FAILED)):
        tag = ["b", f"R{repeat}", "D0"]
        write(tmp_path, ".".join(tag), config("b", device=0, tag=tag), start(), rates([8.0]), how)
    assert rate_of(tmp_path) == 6.0


def test_jobs_are_added_up_and_the_nodes_of_a_job_are_one(tmp_path: Path) -> None:
    for number in ("0", "1"):
        for node, speed in (("n1", rates([10.0] * 5)), ("n2", "")):
            tag = ["b", number, node, *(["nolog"] if node == "n2" else [])]
            settings = job("b", 2, 2, tag=tag, plan={"method": "njobs", "n": 2})
            write(tmp_path, ".".join(tag), settings, start(), speed, OK)
    assert rate_of(tmp_path) == 20.0
    tag = ["b", "1", "n2", "nolog"]
    write(tmp_path, ".".join(tag), job("b", 2, 2, tag=tag), start(), FAILED)
    assert rate_of(tmp_path) == 10.0  # a job with a failed node has failed
