"""A fabric of known rates: how much it blocks, and what another order of its nodes gains."""

from pathlib import Path

import pytest

from .shaped_fabric import blocking, gained, missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing() or "all is there"),
]
RATE = 100  # Mbit/s: so little that no core is in the way


def test_a_fabric_of_half_the_bandwidth_is_told_within_a_tenth(tmp_path: Path) -> None:
    true, found = blocking(4, RATE, tmp_path)
    assert found == pytest.approx(true, rel=0.1)


def test_another_order_gains_what_was_predicted(tmp_path: Path) -> None:
    predicted, measured, order = gained(4, RATE, tmp_path)
    assert order == (0, 2, 1, 3)
    assert measured == pytest.approx(predicted, rel=0.25)
