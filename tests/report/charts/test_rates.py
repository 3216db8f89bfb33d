from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.rates import rates
from milabench_ddp.report.model import Report
from tests.report.sweeps.test_efficiency import point
from tests.support.result_files import RECORDED
from tests.support.svg import check_fits, drawn


def test_a_bar_ends_at_its_rate_inside_its_interval() -> None:
    rows = (
        replace(point(1, 400.0, 0.1), name="a", unit="items/s"),
        replace(point(1, 100.0), name="b", unit="tokens/s"),
    )
    first, second = rates(Report(False, (), rows))
    found = drawn(first.draw(640))
    left, _, right, _ = found.box()
    scale = 500 / (right - left)  # the last tick is at 500
    (bar,), (whisker,) = found.paths("area"), found.paths("whisker")
    assert (max(x for x, _ in bar) - left) * scale == pytest.approx(400, abs=1)
    ends = [(x - left) * scale for x, _ in whisker]
    assert (min(ends), max(ends)) == pytest.approx((360, 440), abs=1)
    assert "400 ±40" in found.texts
    ((name, *values, unit, launches),) = first.table.rows
    assert (name, unit, launches) == ("a", "items/s", 5)
    assert values == pytest.approx([400.0, 360.0, 440.0])
    assert (first.title, second.title) == ("Rates in items/s", "Rates in tokens/s")


def test_the_recorded_run() -> None:
    report = report_of([RECORDED / "first"])
    shown = set()
    for chart in rates(report):
        check_fits(chart.draw(640), 640)
        shown |= {row[0] for row in chart.table.rows}
    assert shown == {row.name for row in report.rows}


def test_what_measured_nothing_has_no_bar(tmp_path: Path) -> None:
    nothing = replace(point(1, 400.0), perf=float("nan"))
    assert list(rates(Report(False, (), (nothing,)))) == []
