"""What is said of hosts, and their table, from runs whose hosts are known."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report, Severity
from milabench_ddp.report.tables.host_tables import hosts
from tests.support.result_files import end, job, line, start, timed_rates, write

CALM: dict[str, Any] = {
    "cpu": 0.5, "cpu_clock": 2400.0, "memory": [100.0, 1000.0], "swap": [0.0, 0.0],
    "disk": [3.0, 1.0], "network": [7.0, 9.0],
}  # fmt: skip
SECONDS = 20


def run_of(folder: Path, arch: str = "cuda", **node1: Any) -> Report:
    """A job of 20 s on two nodes; what ``node1`` does in the measured steps is planted."""
    for node, state in enumerate((CALM, {**CALM, **node1})):
        tag = ["b", "0", f"node{node}", *(["nolog"] if node else [])]
        told = ""
        for second in range(-5, SECONDS + 5):
            # before and after it something else is loaded and stored
            now = state if 0 <= second < SECONDS else {"cpu": 1.0, "memory": [999.0, 1000.0]}
            seen = {"time": 1000.5 + second, **now}
            told += line("data", {"task": "main", "hostdata": seen}, "data")
        rates = "" if node else timed_rates([100.0] * SECONDS)
        settings = job("b", nodes=2, tag=tag, arch=arch)
        ended = end(0, outcome="ok")
        write(folder, ".".join(tag), settings, start(), told, rates, ended)
    return report_of([folder])


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


def test_the_table_of_hosts(tmp_path: Path) -> None:
    table = hosts(run_of(tmp_path, cpu=0.97).rows)
    common = (SECONDS, 2400.0, 100.0, 1000.0, 0.0, 3.0, 1.0, 7.0, 9.0)
    shown = [(row[:2], row[3], (row[2], *row[4:])) for row in table.rows]
    assert shown == [
        (("b", "node0"), pytest.approx(0.5), common),
        (("b", "node1"), pytest.approx(0.97), common),
    ]
