"""Findings, as they are in a report."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Severity
from milabench_ddp.report.findings import FINDERS
from milabench_ddp.report.tables.findings_tables import LAYERS
from tests.support.result_files import config, end, rates, start, write


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


def test_each_layer_has_a_row_in_the_table() -> None:
    layers = {finder.layer for finder in FINDERS.values()} - {""}
    assert layers <= set(LAYERS)
