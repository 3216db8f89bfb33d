import numpy as np

from milabench_ddp.report.charts.over_time import over_time
from milabench_ddp.report.charts.plot import Shade
from tests.support.svg import check_fits, drawn


def test_a_long_series_keeps_its_extremes() -> None:
    places, values = np.arange(1.0, 10_001), np.full(10_000, 20.0)
    values[5000] = 90.0
    chart = over_time(
        "steps", "gpt", "gpt: step times", ("step", "time of a step, ms"),
        {"rank 0": (places, values)}, [Shade("warm-up", 1.0, 100.5)],
    )  # fmt: skip
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


def test_each_value_of_a_short_series_is_in_the_table() -> None:
    values = np.array([3.0, 1.0, 2.0])
    chart = over_time(
        "rate", "b", "b: rate", ("time (s)", "rate"), {"p": (values.cumsum(), values)}
    )
    assert [row[1] for row in chart.table.rows] == [3.0, 4.0, 6.0]
    assert [row[3:] for row in chart.table.rows] == [(value,) * 3 for value in values]
