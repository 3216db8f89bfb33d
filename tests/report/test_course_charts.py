import math
from pathlib import Path

import numpy as np

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.axes import Span
from milabench_ddp.report.charts.chart import Chart
from milabench_ddp.report.charts.scale import zero_based
from milabench_ddp.report.course_charts import course_chart, course_charts
from milabench_ddp.report.page.series import Course, TimeSeries
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


def test_a_long_series_keeps_its_extremes() -> None:
    places, values = np.arange(1.0, 10_001), np.full(10_000, 20.0)
    values[5000] = 90.0
    series = TimeSeries("rank 0", places, values)
    shaded = (Span("warm-up", 1.0, 100.5),)
    course = Course("steps", "Step times", "step", "ms", (series,), shaded)
    chart = course_chart(course, "gpt", "gpt: step times", "time of a step, ms", zero_based)
    assert chart is not None
    drawing = chart.draw(640)
    check_fits(drawing, 640)
    found = drawn(drawing)
    left, top, right, bottom = found.box()
    (band,) = found.paths("band")
    highest = (bottom - min(y for _, y in band)) / (bottom - top) * 100
    assert round(highest) == 90
    (shade, _) = found.paths("shade")  # and that of the legend
    assert max(x for x, _ in shade) - left < 0.02 * (right - left)
    assert len(chart.table.rows) == 250
    assert max(row[-1] for row in chart.table.rows) == 90
    assert chart.description == ("time of a step, ms, over step. rank 0: 20 to 90.")


def rate_chart(*curves: TimeSeries) -> Chart | None:
    course = Course("rate", "Rate over time", "time (s)", "items/s", curves)
    return course_chart(course, "b", "b: rate", "rate")


def test_each_value_of_a_short_series_is_in_the_table() -> None:
    values = np.array([3.0, 1.0, 2.0])
    chart = rate_chart(TimeSeries("p", values.cumsum(), values))
    assert chart is not None
    assert [row[1] for row in chart.table.rows] == [3.0, 4.0, 6.0]
    assert [row[3:] for row in chart.table.rows] == [(value,) * 3 for value in values]


def test_what_is_not_known_of_a_series_is_left_out() -> None:
    known = TimeSeries("a", [1.0, 2.0, 3.0], [5.0, math.nan, 7.0])
    chart = rate_chart(known, TimeSeries("b", [1.0], [math.inf]))
    assert chart is not None
    assert [row[:2] for row in chart.table.rows] == [("a", 1.0), ("a", 3.0)]
    check_fits(chart.draw(640), 640)
    assert rate_chart() is None
