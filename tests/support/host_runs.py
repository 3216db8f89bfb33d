"""Runs on hosts that did what is planted."""

from pathlib import Path
from typing import Any

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report
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
