import numpy as np
import pytest

from milabench_ddp.report.history.history import History, history_of
from milabench_ddp.report.history.history_page import history_chart
from tests.support.made_up_history import write_run
from tests.support.svg import parsed


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Thirty runs of two devices: from the twelfth on one is slower, from the 22nd on both are."""
    folder = tmp_path_factory.mktemp("runs")
    draw = np.random.default_rng(4)
    paths = []
    for number in range(1, 31):
        levels = 100 * (1 + 0.002 * draw.standard_normal(4)) * (0.95 if number >= 22 else 1.0)
        levels[1] *= 0.92 if number >= 12 else 1.0
        speeds = {f"GPU-{k}": float(level) for k, level in enumerate(levels)}
        paths.append(write_run(folder, number, {"flops": speeds}))
    return history_of(paths)


def test_a_change_is_marked_where_it_is_and_dated(history: History) -> None:
    of_benchmark, of_device = (
        next(track for track in history.tracks if (track.device and track.device.key) == key)
        for key in (None, "GPU-1")
    )
    for track, changes in (
        (of_benchmark, {12: (-2.0, "2027-01-27"), 22: (-5.0, "2027-02-06")}),
        (of_device, {12: (-8.0, "2027-01-27")}),
    ):
        chart = history_chart(track, history)
        drawn = parsed(chart.svg(900.0))
        points = [path[0][0] for path in drawn.paths("marker0")]
        assert {path[0][0] for path in drawn.paths("mark")} == {points[run - 1] for run in changes}
        told = {row[0]: row[-1] for row in chart.table.rows if row[-1]}
        assert told.keys() == changes.keys()
        for run, (percent, day) in changes.items():
            assert float(told[run].removesuffix("%")) == pytest.approx(percent, abs=0.3)
            assert f"{told[run]}, {day}" in drawn.texts


def test_each_point_says_which_run_it_is(history: History) -> None:
    chart = history_chart(history.tracks[0], history)
    titles = [each.text or "" for each in parsed(chart.svg()).root.iter("title")]
    assert titles[1].startswith("run 1, r01, 2027-01-16 08:00: ")
    assert len(titles) == 1 + 30
