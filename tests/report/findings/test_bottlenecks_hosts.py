"""What is said of hosts, from runs whose hosts are known."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Severity
from milabench_ddp.report.model import Report
from tests.support.host_runs import run_of
from tests.support.result_files import end, job, line, start, timed_rates, write


def about(report: Report) -> list[str]:
    found = [finding for finding in report.findings if finding.name == "busy_host"]
    assert all(finding.severity is Severity.WARNING for finding in found)
    assert all(finding.place == "node1" for finding in found)
    return [finding.sentence for finding in found]


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ({}, ""),
        ({"cpu": 0.94, "memory": [940.0, 1000.0]}, ""),
        ({"cpu": 0.97}, "its cores were 97% busy"),
        ({"memory": [960.0, 1000.0]}, "its memory was 96% full"),
        ({"swap": [2.0, 10.5], "cpu": 1.0}, "its cores were 100% busy, it swapped 12.5 MB/s"),
    ],
)
def test_a_host_without_anything_to_spare_is_told_in_a_line(
    tmp_path: Path, planted: dict[str, Any], said: str
) -> None:
    sentences = about(run_of(tmp_path, **planted))
    assert sentences == ([f"b: the host had nothing to spare on node1: {said}"] if said else [])


def test_cores_that_are_measured_are_meant_to_be_busy(tmp_path: Path) -> None:
    assert about(run_of(tmp_path, arch="cpu", cpu=1.0)) == []


def test_a_host_is_told_once_for_all_launches(tmp_path: Path) -> None:
    for launch in range(3):
        told = "".join(
            line("data", {"hostdata": {"time": 1000.5 + second, "cpu": 1.0}})
            for second in range(20)
        )
        settings = job("b", tag=["b", f"R{launch}", "0"], arch="cuda")
        ended = end(0, outcome="ok")
        write(tmp_path, f"b.R{launch}.0", settings, start(), told, timed_rates([1.0] * 20), ended)
    (found,) = [each for each in report_of([tmp_path]).findings if each.name == "busy_host"]
    assert found.sentence == "b: the host had nothing to spare: its cores were 100% busy"
