from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.course_charts import course_charts
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    rates,
    sampled,
    start,
    timed_rates,
    write,
)
from tests.support.svg import check_fits, drawn
from tests.support.trained_ranks import trained


def test_the_rate_over_time_with_its_warm_up_shaded(tmp_path: Path) -> None:
    warm, measured = rates([2.0, 4.0], warmup=True), rates([8.0] * 6)
    write(tmp_path, "b.D0", config("b", device=0), start(), warm, measured, end(0))
    (chart,) = course_charts(report_of([tmp_path]))
    assert (chart.kind, chart.subject, chart.title) == ("rate", "b", "b: rate over time")
    assert [row[4] for row in chart.table.rows] == [2.0, 4.0, *[8.0] * 6]
    found = drawn(chart.draw(640))
    assert {"rate, items/s", "observation", "warm-up"} <= set(found.texts)
    left, _, right, _ = found.box()
    end_of_shade = max(x for x, _ in found.paths("shade")[0])
    # the axis has the observations 0 to 8, and the warm-up ends between the second and the third
    assert round((end_of_shade - left) / (right - left) * 8, 1) == 2.5


def test_the_steps_of_ranks_and_their_own_work(tmp_path: Path) -> None:
    trained(4, slow={2: {"backward": 1.25}}).write(tmp_path)
    charts = {chart.kind: chart for chart in course_charts(report_of([tmp_path]))}
    assert set(charts) == {"steps", "own"}
    own = charts["own"]
    assert "rank 2 (slowest)" in own.description
    medians = {row[0]: row[4] for row in own.table.rows}
    assert medians["rank 2 (slowest)"] > 85 > medians["rank 0 (fastest)"]
    assert "own work, ms" in drawn(own.draw(640)).texts


def test_a_sensor_of_a_device_has_its_name_and_its_unit(tmp_path: Path) -> None:
    seen = "".join(sampled(1000.0 + k, d0={"sm_clock": 1500 + k, "power": 300}) for k in range(9))
    write(tmp_path, "b.D0", config("b", device=0), start(), timed_rates([5.0] * 9), seen, end(0))
    charts = {chart.kind: chart for chart in course_charts(report_of([tmp_path]))}
    clock = charts["devices-sm_clock"]
    assert clock.title == "b: SM clock"
    assert "SM clock, MHz" in drawn(clock.draw(640)).texts
    assert "0" not in drawn(clock.draw(640)).texts[-9:]
    assert "0" in drawn(charts["devices-power"].draw(640)).texts


def test_the_devices_of_a_recorded_run() -> None:
    for chart in course_charts(report_of([RECORDED / "milabench" / "sedumoje"])):
        check_fits(chart.draw(640), 640)
        assert chart.table.rows
