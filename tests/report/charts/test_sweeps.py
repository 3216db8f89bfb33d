from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.chart import Chart
from milabench_ddp.report.charts.sweeps import heat_maps, sweep_charts
from milabench_ddp.report.model import Report
from milabench_ddp.report.sweeps.metrics import metric_of
from tests.golden import check_golden
from tests.report.sweeps.test_efficiency import point
from tests.support.svg import check_fits, drawn
from tests.support.sweep_of_models import make


def charts(report: Report) -> dict[tuple[str, str], Chart]:
    return {(chart.subject, chart.part): chart for chart in sweep_charts(report)}


def of_points(**perfs: float) -> Report:
    """A sweep of a model on so many nodes: ``n4=380`` is its rate on four of them."""
    rows = [point(int(name[1:]), perf, 0.02, model="m") for name, perf in perfs.items()]
    return Report(False, (), tuple(rows))


def test_a_perfect_sweep_lies_on_the_ideal_line() -> None:
    chart = charts(of_points(n1=100.0, n2=200.0, n4=400.0, n16=1600.0))["m", "throughput"]
    found = drawn(chart.draw(640))
    (line,), (ideal,) = found.paths("line"), found.paths("ideal")[:1]
    assert len(line) == 4
    for x, y in line:
        near = min(ideal, key=lambda place: abs(place[0] - x))
        assert near == pytest.approx((x, y), abs=0.2)


def test_the_table_has_the_numbers_that_are_drawn() -> None:
    chart = charts(of_points(n1=100.0, n4=320.0))["m", "efficiency"]
    names = [column.name for column in chart.table.columns]
    assert names == ["benchmark", "line", "nodes", "efficiency", "give or take", "note"]
    values = [dict(zip(names, row, strict=True)) for row in chart.table.rows]
    assert [(row["nodes"], row["efficiency"]) for row in values] == [(1, 1.0), (4, 0.8)]
    assert values[1]["give or take"] == pytest.approx(0.8 * 0.02 * 2**0.5)
    assert chart.description == (
        "1-m: efficiency 1 on 1 to 0.8 on 4 nodes, 1 is ideal (weak scaling)."
    )


def test_a_single_point_is_no_sweep() -> None:
    assert charts(of_points(n4=100.0)) == {}


def test_all_lines_of_a_sweep_of_models(tmp_path: Path) -> None:
    report = report_of([make(tmp_path)])
    found = charts(report)
    assert {part for _, part in found} == {"throughput", "latency", "efficiency"}
    latency = metric_of("latency", report.rows, lambda _: True)
    rows = {row.name: row for row in report.rows}
    seen = set()
    for (_, part), chart in found.items():
        check_fits(chart.draw(640), 640)
        for name, _, _, value, _, note in chart.table.rows:
            seen.add(name)
            if part == "latency" and not note:
                assert value == latency.cell(rows[name]).value
    assert len(seen) >= 20


def test_what_failed_is_in_the_table_with_its_reason(tmp_path: Path) -> None:
    chart = next(iter(charts(report_of([make(tmp_path)])).values()))
    notes = {row[0]: row[-1] for row in chart.table.rows}
    assert notes["hf_T5-eager-without-4"].startswith("torch.OutOfMemoryError")


def test_golden() -> None:
    chart = charts(of_points(n1=100.0, n2=190.0, n4=350.0, n8=600.0))["m", "throughput"]
    check_golden("report/chart_sweep.svg", chart.file().replace("><", ">\n<") + "\n")


def combination(batch: int, width: int, perf: float):
    row = point(1, perf, batch=batch, width=width)
    return replace(row, unit="items/s")


def test_two_settings_are_the_axes() -> None:
    rows = [combination(b, w, 10.0 * b * w) for b in (1, 2) for w in (4, 8, 16)]
    (chart,) = heat_maps(Report(False, (), tuple(rows)))
    assert chart.title == "Throughput by batch and width"
    found = drawn(chart.draw(640))
    assert found.texts[:8] == ["width", "batch", "4", "8", "16", "1", "2", "40"]
    assert {"40", "80", "160", "320"} <= set(found.texts)
    assert [column.name for column in chart.table.columns] == ["batch", "4", "8", "16"]
    assert chart.table.rows[1][:4] == ("2", 80.0, 160.0, 320.0)


def test_a_sweep_of_many_settings_is_drawn_whole() -> None:
    rows = [combination(b, w, 10.0 * b * w) for b in range(1, 41) for w in (4, 8)]
    (chart,) = heat_maps(Report(False, (), tuple(rows)))
    drawing = chart.draw(640)
    check_fits(drawing, 640)
    assert {"1", "40", "3,200"} <= set(drawn(drawing).texts)
    assert len(chart.table.rows) == 40


def test_a_sweep_of_one_setting_has_none() -> None:
    rows = [combination(1, w, 10.0 * w) for w in (4, 8, 16)]
    assert list(heat_maps(Report(False, (), tuple(rows)))) == []


def test_a_cell_that_failed_says_so(tmp_path: Path) -> None:
    charts = list(heat_maps(report_of([make(tmp_path)])))
    assert {chart.part for chart in charts} == {"efficiency", "throughput", "latency"}
    for chart in charts:
        check_fits(chart.draw(640), 640)
        assert "timeout" in drawn(chart.draw(900)).texts
