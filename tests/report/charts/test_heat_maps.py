from pathlib import Path

from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.heat_maps import heat_maps, links
from milabench_ddp.report.model import Report
from tests.report.sweeps.test_efficiency import point
from tests.support.result_files import config, end, rates, start, told, write
from tests.support.svg import check_fits, drawn
from tests.support.sweep_of_models import make


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


def test_a_sweep_of_one_setting_has_none() -> None:
    rows = [combination(1, w, 10.0 * w) for w in (4, 8, 16)]
    assert list(heat_maps(Report(False, (), tuple(rows)))) == []


def test_a_cell_that_failed_says_so(tmp_path: Path) -> None:
    charts = list(heat_maps(report_of([make(tmp_path)])))
    assert {chart.part for chart in charts} == {"efficiency", "throughput", "latency"}
    for chart in charts:
        check_fits(chart.draw(640), 640)
        assert "timeout" in drawn(chart.draw(900)).texts


def test_links_between_ranks(tmp_path: Path) -> None:
    pairs = ""
    for sender, receiver, speed in ((0, 1, 20.0), (0, 2, 20.0), (1, 2, 5.0)):
        pair = {"from": sender, "to": receiver, "ways": 2, "gb_s": speed, "best_gb_s": speed}
        pairs += told(pair=pair)
    text = (config("pairs", device=None), start(), rates([5.0] * 3), pairs, end(0))
    write(tmp_path, "pairs.0", *text)
    (chart,) = links(report_of([tmp_path]))
    assert chart.title == "pairs: bandwidth between ranks, both ways"
    assert "The slowest is 1 <-> 2: 5." in chart.description
    texts = drawn(chart.draw(640)).texts
    assert (texts.count("20"), texts.count("5")) == (4 + 1, 2 + 1)  # with the key's ends
