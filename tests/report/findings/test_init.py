"""Findings, as they are in a report."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Severity
from milabench_ddp.report.findings import FINDERS
from milabench_ddp.report.tables.findings_tables import LAYERS
from tests.support.result_files import config, end, job, rates, start, told, write


def test_each_finding_has_the_name_under_which_it_is_found(tmp_path: Path) -> None:
    for device, level in enumerate((100.0, 101.0, 90.0, 99.0)):
        values = rates(level + 0.1 * (k % 3) for k in range(60))
        settings = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings, start(), values, end(), "{cut off")
    last, first, *others = report_of([tmp_path]).findings
    assert (first.name, first.severity, first.benchmark) == ("damaged_file", Severity.WARNING, "")
    assert first.place == f"{tmp_path}/b.D0.data"
    assert [found.name for found in others] == ["damaged_file"] * 3
    assert (last.name, last.benchmark, last.place) == ("slow_device", "b", "device 2")
    assert last.evidence["slower"] == pytest.approx(0.1, abs=0.001)
    assert last.advice


@pytest.mark.parametrize(
    ("weights", "costs"),
    [
        ((1.0, 1.0), {"host_bound": 0.3 / 2, "slow_device": 0.1 / 2}),
        ((1.0, 9.0), {"slow_device": 0.1 * 9 / 10, "host_bound": 0.3 / 10}),
        ((0.0, 0.0), {"host_bound": 0.3 / 2, "slow_device": 0.1 / 2}),
    ],
)
def test_the_dearest_is_first_by_the_share_of_a_step_and_the_weight(
    tmp_path: Path, weights: tuple[float, float], costs: dict[str, float]
) -> None:
    """One waits for its host in 30 % of each step; of four devices of the other, one is slower."""
    idle = told(device_idle=0.3)
    of = job("waits", 1, weight=weights[0])
    write(tmp_path, "waits.0", of, start(), rates([9.0] * 60), idle, end())
    for device, level in enumerate((100.0, 100.0, 90.0, 100.0)):
        settings = config("b", device=device, tag=["b", f"D{device}"], weight=weights[1])
        values = rates(level + 0.001 * (k % 3) for k in range(60))
        write(tmp_path, f"b.D{device}", settings, start(), values, end())
    slow = [found for found in report_of([tmp_path]).findings if found.kind == "slow"]
    assert [found.name for found in slow] == list(costs)
    for found in slow:
        assert found.cost == pytest.approx(costs[found.name], rel=0.01)


def test_each_layer_has_a_row_in_the_table() -> None:
    layers = {finder.layer for finder in FINDERS.values()} - {""}
    assert layers <= set(LAYERS)
