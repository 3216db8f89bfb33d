"""How often intervals over launches hold the mean, on made-up launches."""

import pytest

from tests.studies.planted_launches import coverage, until


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_over_two_launches_hold_the_mean(correlation: float) -> None:
    *_, held, its_own, _, says, mark = coverage(correlation, 60, 2, 150)
    assert held >= 0.93  # type: ignore[operator]
    assert (its_own, says, mark) == (None, "the mean rate over 2 launches", "")


def test_that_of_a_single_launch_says_that_it_holds_this_launch_alone() -> None:
    *_, held, its_own, _, says, mark = coverage(0.5, 60, 1, 100)
    assert held < 0.8 < 0.93 <= its_own  # type: ignore[operator]
    assert (says, mark) == ("the mean rate within this launch", "")


def test_a_single_launch_of_few_steps_has_none() -> None:
    *_, held, _, _, says, mark = coverage(0.0, 20, 1, 5)
    assert (held, says, mark) == (None, "no interval", "")


@pytest.mark.parametrize(("name", "ratio"), [("normal", 1.75), ("two clocks", 1.5)])
def test_until_the_interval_is_narrow_it_still_holds_the_mean(name: str, ratio: float) -> None:
    _, _, held, launches, fixed, naive, _ = until(name, ratio, 300)
    assert held >= 0.93 > naive  # type: ignore[operator]
    assert launches < 1.4 * fixed  # type: ignore[operator]
