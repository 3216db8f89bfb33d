"""All charts of reports, as the page and ``--plots`` take them."""

import re
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts import CHARTS, charts_of
from milabench_ddp.report.charts.chart import Chart
from tests.support.result_files import RECORDED, config, end, rates, start, write
from tests.support.svg import check_fits, parsed
from tests.support.sweep_of_models import make


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
