from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.communication import communication
from milabench_ddp.report.tables.program_tables import curve
from tests.support.result_files import RECORDED
from tests.support.svg import check_fits, drawn


def test_the_recorded_run() -> None:
    report = report_of([RECORDED / "first"])
    charts = list(communication(report))
    assert [chart.part for chart in charts] == ["bus_gb_s", "time_us"]
    for chart in charts:
        check_fits(chart.draw(640), 640)
        assert chart.subject == "comm-all-reduce"
        assert chart.table == curve(report.rows)
        found = drawn(chart.draw(640))
        assert "4Mi" in found.texts
        assert len(found.paths("marker")) == len(chart.table.rows)
