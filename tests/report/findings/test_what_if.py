"""What-if, of planted jobs in which own work is slower beside communication."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.findings.what_if import condition, faster, gain_text, launches_of
from milabench_ddp.report.model import Row
from milabench_ddp.report.ranks.ledger import LaunchTimes
from milabench_ddp.table import Measured
from tests.support.slowed_ranks import Slowed
from tests.support.trained_ranks import trained

CLEAN = Slowed()
CASES = {
    "slow backward": replace(CLEAN, backward=(60.0, 84.0, 60.0, 60.0)),
    "slow forward": replace(CLEAN, before=(30.0, 45.0, 30.0, 30.0)),
    "less is hidden without it": replace(CLEAN, backward=(60.0, 84.0, 60.0, 60.0), ms=(20.0,) * 4),
    "not slowed": replace(CLEAN, backward=(60.0, 84.0, 60.0, 60.0), slower=1.0),
}
TIMES = 10


@pytest.mark.parametrize("slower", [1.0, 1.2, 1.4])
def test_steps_of_events(slower: float) -> None:
    """Of two buckets of 10 ms, the first is reduced in the pass, which it makes longer."""
    plant = Slowed((10.0,) * 2, (40.0,) * 2, (0.5, 1.0), (10.0,) * 2, slower, noise=0.0)
    ready, end, hidden = plant.step(np.array([10.0, 10.0]), np.array([40.0, 40.0]))
    own = 40 + 10 * (1 - 1 / slower)
    assert ready == pytest.approx(np.array([[20.0, own]] * 2))
    assert end == pytest.approx(10 + own + 10)
    assert hidden == pytest.approx(np.array([[10.0, 0.0]] * 2))


@pytest.fixture(scope="module")
def rows_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Row]]:
    """The rows of the runs of a case, of each seed one."""

    @cache
    def made(case: str) -> list[Row]:
        folder, rows = tmp_path_factory.mktemp("runs"), []
        for seed in range(TIMES):
            CASES[case].write(folder / str(seed), 60, np.random.default_rng(100 + seed))
            rows.extend(report_of([folder / str(seed)]).rows)
        return rows

    return made


def held(plant: Slowed, rows: list[Row], *, hides: bool) -> tuple[float, float]:
    """How often the interval has the truth, and how far the gain is off on average."""
    clean = replace(CLEAN, ms=plant.ms, slower=plant.slower)
    after = plant.hidden_mean if hides else clean.mean
    truth = plant.mean(300, np.random.default_rng(1)) / after(300, np.random.default_rng(1)) - 1
    errors, inside = [], 0
    for row in rows:
        slow = {row.ranks[1].id}
        without = LaunchTimes.hidden_steps if hides else lambda times, of=slow: times.steps(of)
        gain = faster(launches_of(row), without)
        assert condition(launches_of(row)) == ""
        errors.append(float(gain) - truth)
        inside += abs(errors[-1]) <= gain.error
    return inside / len(rows), float(np.mean(errors))


@pytest.mark.parametrize(
    ("case", "hides"),
    [
        ("slow backward", False),
        ("slow forward", True),
        ("less is hidden without it", False),
        ("less is hidden without it", True),
        ("not slowed", False),
    ],
)
def test_own_work_is_slower_beside_communication(
    rows_of: Callable[[str], list[Row]], case: str, hides: bool
) -> None:
    rows = rows_of(case)
    assert len(rows) == TIMES
    inside, error = held(CASES[case], rows, hides=hides)
    assert inside >= 0.9
    assert abs(error) < 0.01


def test_what_is_not_known_is_a_condition(tmp_path: Path) -> None:
    trained(communication=20.0).write(tmp_path)
    (row,) = report_of([tmp_path]).rows
    assert condition(launches_of(row)) == ", if nothing else gets slower"


@pytest.mark.parametrize(
    ("gain", "error", "said"),
    [
        (0.262, 0.03, "26 ±3% faster"),
        (0.9999, 0.02, "100.0 ±2.0% faster"),
        (1.0, 0.02, "2.000 ±0.020 x as fast"),
        (1.84, 0.5, "2.8 ±0.5 x as fast"),
    ],
)
def test_how_a_gain_is_said(gain: float, error: float, said: str) -> None:
    assert gain_text(Measured(gain, error, with_error=True)) == said
