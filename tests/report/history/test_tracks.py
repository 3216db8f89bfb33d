"""The series of benchmarks and devices."""

from pathlib import Path

import pytest

from milabench_ddp.report.history.run_points import run_point
from milabench_ddp.report.history.tracks import Track, tracks_of
from tests.support.made_up_history import write_run


def tracks(folder: Path, *speeds: dict[str, dict[str, float]]) -> list[Track]:
    runs = [run_point(write_run(folder, k, each)) for k, each in enumerate(speeds, 1)]
    names = list(dict.fromkeys(name for run in runs for name in run.benchmarks))
    return list(tracks_of(runs, names, 0.05))


def test_benchmarks_come_first_and_then_their_devices(tmp_path: Path) -> None:
    found = tracks(tmp_path, *[{"a": {"GPU-x": 1.0, "GPU-y": 2.0}, "b": {"GPU-x": 3.0}}] * 2)
    assert [(each.benchmark, each.device and each.device.key) for each in found] == [
        ("a", None),
        ("b", None),
        ("a", "GPU-x"),
        ("a", "GPU-y"),
    ]  # alone in b, GPU-x has no peer
    assert [each.peers for each in found] == [0, 0, 1, 1]


def test_a_track_has_the_runs_that_measured_it(tmp_path: Path) -> None:
    found = tracks(
        tmp_path,
        {"a": {"GPU-x": 1.0, "GPU-y": 2.0}},
        {"b": {"GPU-x": 1.0}},
        {"a": {"GPU-x": 1.0, "GPU-y": 2.0, "GPU-z": 2.0}},
    )
    assert {(each.device and each.device.key): each.runs for each in found[2:]} == {
        "GPU-x": (0, 2),
        "GPU-y": (0, 2),
        "GPU-z": (2,),
    }
    assert found[2].ratios == pytest.approx([1.0, 1.0])
