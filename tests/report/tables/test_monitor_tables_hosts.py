from pathlib import Path

import pytest

from milabench_ddp.report.tables.monitor_tables import hosts
from tests.support.host_runs import SECONDS, run_of


def test_each_host_over_the_measured_steps(tmp_path: Path) -> None:
    table = hosts(run_of(tmp_path, cpu=0.97).rows)
    common = (SECONDS, 2400.0, 100.0, 1000.0, 0.0, 3.0, 1.0, 7.0, 9.0)
    shown = [(row[:2], row[3], (row[2], *row[4:])) for row in table.rows]
    assert shown == [
        (("b", "node0"), pytest.approx(0.5), common),
        (("b", "node1"), pytest.approx(0.97), common),
    ]
