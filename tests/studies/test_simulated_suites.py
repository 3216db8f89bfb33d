"""The made-up suites of ``tests/studies/simulated_suites.py``: few and small."""

import numpy as np

from milabench_ddp.report.comparison.ratios import Pair
from milabench_ddp.report.comparison.verdicts import RatioVerdict
from tests.studies import simulated_suites
from tests.studies.simulated_launches import SETTINGS, Setting


def quiet(draw: np.random.Generator, launches: int, count: int) -> np.ndarray:
    """Launches that differ by 0.1 %."""
    return 0.001 * draw.normal(size=(launches, count))


def suite() -> list[Pair]:
    return simulated_suites.suite(Setting(3, 3, effects=quiet), benchmarks=4, steps=60, seed=1)


def test_planted_changes_are_found_where_launches_hardly_differ() -> None:
    pairs = suite()
    assert simulated_suites.verdicts(pairs) == [RatioVerdict.SAME] * 4
    slower = simulated_suites.changed(pairs, [1, 3], 0.9)
    expected = [RatioVerdict.SAME, RatioVerdict.SLOWER] * 2
    assert simulated_suites.verdicts(slower) == expected
    # each is by a little less than 11 %
    assert RatioVerdict.SLOWER not in simulated_suites.verdicts(slower, threshold=0.11)


def test_a_history_is_of_launches_of_their_own() -> None:
    setting = Setting(1, 1, history=4, effects=quiet)
    (pair, *_) = simulated_suites.suite(setting, benchmarks=3, steps=20, seed=1)
    assert [len(pair.before), len(pair.after), *map(len, pair.history)] == [1, 1, 4]


def test_benchmarks_of_some_settings_differ() -> None:
    draw = np.random.default_rng(1)
    spread = SETTINGS["by 0.3 to 3 %"].effects(draw, 500, 5).std(axis=0)
    assert spread[-1] / spread[0] > 8
    wild = SETTINGS["one by 5 %"].effects(draw, 500, 5).std(axis=0)
    assert wild[0] / wild[1] > 4


def falling(draw: np.random.Generator, launches: int, count: int) -> np.ndarray:
    """Launches that become slower by 5 % from one to the next."""
    return quiet(draw, launches, count) - 0.05 * np.arange(launches)[:, None]


def test_sides_that_take_turns_are_made_one_after_the_other() -> None:
    setting = Setting(4, 4, effects=falling, in_turn=True)
    (made, *_) = simulated_suites.suite(setting, benchmarks=2, steps=20, seed=1)
    assert made.is_paired
    moments = []
    for side in (made.before, made.after):
        moments.append([round(np.log(launch[0].mean) / -0.05) for launch in side])
    assert moments == [[0, 3, 4, 7], [1, 2, 5, 6]]
