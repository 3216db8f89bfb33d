"""All charts of reports, as the page and ``--plots`` take them."""

import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts import catalogue
from milabench_ddp.report.charts.catalogue import (
    CHARTS,
    LEDGER_AREAS,
    MOST_BARS,
    charts_of,
)
from milabench_ddp.report.charts.chart import Chart
from milabench_ddp.report.charts.theme import AREAS
from milabench_ddp.report.model import Report
from milabench_ddp.report.tables.ledger_table import ITEMS
from milabench_ddp.report.tables.ledger_table import ledger as ledger_table
from milabench_ddp.report.tables.main_table import main_table
from milabench_ddp.report.tables.program_tables import curve
from tests.golden import check_golden
from tests.report.sweeps.test_efficiency import point
from tests.support.link_files import pair_rows, write_pairs
from tests.support.result_files import RECORDED, config, end, rates, start, told, write
from tests.support.svg import check_fits, drawn, parsed
from tests.support.sweep_of_models import make
from tests.support.trained_ranks import trained


def check(chart: Chart) -> None:
    assert chart.kind in CHARTS
    assert chart.title
    assert chart.description.endswith(".")
    assert chart.table.rows
    for width in (360, 640):
        check_fits(chart.draw(width), width)
    inside = parsed(chart.svg()).root
    assert inside.get("role") == "img"
    title, description = inside[:2]
    assert (title.tag, description.tag) == ("title", "desc")
    assert inside.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    # a page forbids both: its policy lets no style run but its own
    assert not re.search(r'<style| style="', chart.svg())
    assert parsed(chart.file()).root.tag.endswith("svg")


def test_the_recorded_run() -> None:
    charts = list(charts_of(report_of([RECORDED / "first"])))
    for chart in charts:
        check(chart)
    assert {"rates", "ledger", "communication"} <= {chart.kind for chart in charts}
    ids = [chart.id for chart in charts]
    assert len(set(ids)) == len(ids)


def test_a_sweep(tmp_path: Path) -> None:
    charts = list(charts_of(report_of([make(tmp_path)])))
    for chart in charts:
        check(chart)
    assert {"sweeps", "heat_maps"} <= {chart.kind for chart in charts}


def test_a_hostile_name_stays_text(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>&\x00\x1b]0;\u202e"
    write(tmp_path, "x.D0", config(name, device=0), start(), rates([1.0] * 5), end(0))
    for chart in charts_of(report_of([tmp_path])):
        check(chart)
        assert "<script" not in chart.svg()


@pytest.mark.parametrize("compat", [False, True])
def test_a_run_of_milabench(compat: bool) -> None:
    run = RECORDED / "milabench" / "sedumoje"
    for chart in charts_of(report_of([run], compat_formulas=compat)):
        check(chart)


def test_a_bar_ends_at_its_rate_inside_its_interval() -> None:
    rows = (
        replace(point(1, 400.0, 0.1), name="a", unit="items/s"),
        replace(point(1, 100.0), name="b", unit="tokens/s"),
    )
    first, second = catalogue.rate_charts(Report(False, (), rows))
    found = drawn(first.draw(640))
    left, _, right, _ = found.box()
    scale = 500 / (right - left)  # the last tick is at 500
    (bar,), (whisker,) = found.paths("area"), found.paths("whisker")
    assert (max(x for x, _ in bar) - left) * scale == pytest.approx(400, abs=1)
    ends = [(x - left) * scale for x, _ in whisker]
    assert (min(ends), max(ends)) == pytest.approx((360, 440), abs=1)
    assert "400 ±40" in found.texts
    assert first.table == main_table(rows[:1])
    assert (first.title, second.title) == ("Rates in items/s", "Rates in tokens/s")


def test_the_rates_of_the_recorded_run() -> None:
    report = report_of([RECORDED / "first"])
    shown = set()
    for chart in catalogue.rate_charts(report):
        check_fits(chart.draw(640), 640)
        shown |= {row[0] for row in chart.table.rows}
    assert shown == {row.name for row in report.rows}


def test_what_measured_nothing_has_no_bar(tmp_path: Path) -> None:
    nothing = replace(point(1, 400.0), perf=float("nan"))
    assert list(catalogue.rate_charts(Report(False, (), (nothing,)))) == []


def test_each_item_is_as_long_as_its_time(tmp_path: Path) -> None:
    trained(3, noise=0.0, slow={2: {"backward": 1.25}}).write(tmp_path)
    report = report_of([tmp_path])
    (chart,) = catalogue.ledger_charts(report)
    found = drawn(chart.draw(640))
    left, _, right, bottom = found.box()
    ms = 120 / (right - left)  # the last tick is at 120 ms
    (backward,) = [path for path in found.root.iter("path") if "backward" in path.get("fill", "")
                   and float(path.get("d", "").split()[1].split("h")[0]) < bottom]  # fmt: skip
    widths = [float(word.split("v")[0]) for word in backward.get("d", "").split("h")[1::2]]
    assert [width * ms for width in widths] == pytest.approx(
        [40 + 10 / 3, 40.0, 40.0, 50.0], abs=0.3
    )
    assert "110 ms" in found.texts
    assert chart.table == ledger_table(report.rows)
    assert "backward 43.3" in chart.description


def test_many_ranks_are_those_that_wait_least_and_most(tmp_path: Path) -> None:
    trained(100, 20, noise=0.01, slow={7: {"backward": 1.25}}).write(tmp_path)
    (chart,) = catalogue.ledger_charts(report_of([tmp_path]))
    drawing = chart.draw(640)
    check_fits(drawing, 640)
    labels = [text for text in drawn(drawing).texts if text.startswith("rank ")]
    assert len(labels) == len(set(labels)) == MOST_BARS
    assert "rank 7" in labels
    assert f"Of 100 ranks, {MOST_BARS} are drawn" in chart.description
    assert len(chart.table.rows) == 101


def test_each_item_has_an_area_of_its_own() -> None:
    assert set(LEDGER_AREAS) == set(ITEMS.values())
    assert set(LEDGER_AREAS.values()) <= set(AREAS)
    # a program tells either both passes or their sum
    assert len(set(LEDGER_AREAS.values())) == len(LEDGER_AREAS) - 1


def test_the_ledger_as_svg(tmp_path: Path) -> None:
    trained(3, noise=0.0, slow={2: {"backward": 1.25}}).write(tmp_path)
    (chart,) = catalogue.ledger_charts(report_of([tmp_path]))
    check_golden("report/chart_ledger.svg", chart.svg().replace("><", ">\n<") + "\n")


def test_communication_by_size() -> None:
    report = report_of([RECORDED / "first"])
    charts = list(catalogue.communication_charts(report))
    assert [chart.part for chart in charts] == ["bus_gb_s", "time_us"]
    for chart in charts:
        check_fits(chart.draw(640), 640)
        assert chart.subject == "comm-all-reduce"
        assert chart.table == curve(report.rows)
        found = drawn(chart.draw(640))
        assert "4Mi" in found.texts
        assert len(found.paths("marker")) == len(chart.table.rows)


def test_links_between_ranks(tmp_path: Path) -> None:
    pairs = ""
    for sender, receiver, speed in ((0, 1, 20.0), (0, 2, 20.0), (1, 2, 5.0)):
        pair = {"from": sender, "to": receiver, "ways": 2, "gb_s": speed, "best_gb_s": speed}
        pairs += told(pair=pair)
    text = (config("pairs", device=None), start(), rates([5.0] * 3), pairs, end(0))
    write(tmp_path, "pairs.0", *text)
    (chart,) = catalogue.link_maps(report_of([tmp_path]))
    assert chart.title == "pairs: bandwidth between ranks, both ways"
    assert "The slowest is 1 <-> 2: 5." in chart.description
    texts = drawn(chart.draw(640)).texts
    assert (texts.count("20"), texts.count("5")) == (4 + 1, 2 + 1)  # with the key's ends


def test_links_between_nodes_are_a_map_of_nodes_with_the_slowest_of_their_ranks(
    tmp_path: Path,
) -> None:
    fast, slow = np.full((3, 3), 40.0), np.full((3, 3), 40.0)
    slow[2, 0] = 7.0
    alone = pair_rows(np.full((2, 2), 50.0), schedule="alone")
    write_pairs(tmp_path, [fast, slow], alone)
    (chart,) = catalogue.link_maps(report_of([tmp_path]))
    assert chart.title == "pairs: bandwidth between nodes, one way"
    assert "The slowest is 5 -> 1: 7. Of the pairs of ranks of two nodes" in chart.description
    texts = drawn(chart.draw(640)).texts
    assert (texts.count("40"), texts.count("7"), texts.count("50")) == (5 + 1, 1 + 1, 0)
    assert texts.count("n2") == 2
