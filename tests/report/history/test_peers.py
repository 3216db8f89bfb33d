"""Devices whose levels, waves and faults are known."""

import statistics

import numpy as np
import pytest

from milabench_ddp.report.history.tracks import against_peers
from tests.support.made_up_history import slowed, waving


@pytest.mark.parametrize("devices", [2, 3, 4, 7])
def test_each_is_compared_with_the_median_of_the_others(devices: int) -> None:
    draw = np.random.default_rng(1)
    row = draw.normal(size=(1, devices))
    expected = []
    for device in range(devices):
        others = statistics.median(np.delete(row[0], device))
        expected.append(row[0, device] - others)
    # of a single run, the levels are the values, and nothing has moved
    moved = np.vstack([np.zeros((2, devices)), row])
    relative = against_peers(moved)
    assert relative[2] - relative[0] == pytest.approx(expected)


def test_a_common_wave_cancels() -> None:
    logs = waving(0, devices=8, noise=0.0)
    relative = against_peers(logs)
    assert np.ptp(relative, axis=0) == pytest.approx(np.zeros(8), abs=1e-12)


@pytest.mark.parametrize("slow", [0, 3, 7])
def test_a_slow_device_stands_out_by_all_of_its_loss_and_no_other_does(slow: int) -> None:
    relative = against_peers(slowed(waving(0, devices=8, noise=0.0), slow, 30))
    apart = np.exp(relative[-1] - relative[0])
    assert apart[slow] == pytest.approx(0.96)
    assert np.delete(apart, slow) == pytest.approx(np.ones(7))


def test_runs_on_other_devices_do_not_move_the_rest() -> None:
    """Devices differ by 20 %, and each run has another half of them."""
    levels = np.linspace(0, 0.2, 8)
    logs = np.tile(levels, (12, 1))
    for run in range(12):
        logs[run, run % 2 :: 2] = np.nan
    logs[:, 3] = levels[3]  # always there
    relative = against_peers(logs)[:, 3]
    assert np.ptp(relative) == pytest.approx(0.0, abs=1e-12)


def test_without_a_peer_there_is_nothing_to_compare_with() -> None:
    logs = np.array([[1.0, np.nan], [1.0, 2.0], [1.0, 2.0]])
    assert np.isnan(against_peers(logs)).tolist() == [[True, True], [False, False], [False, False]]
