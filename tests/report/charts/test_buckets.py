import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.charts.buckets import buckets


@given(st.lists(st.floats(-1e9, 1e9)), st.integers(1, 20))
def test_each_value_is_in_one_bucket(values: list[float], most: int) -> None:
    found = buckets(values, most)
    assert len(found) <= most
    covered = []
    for bucket in found:
        part = values[bucket.first : bucket.last + 1]
        covered += part
        assert (bucket.least, bucket.most) == (min(part), max(part))
        assert bucket.median == pytest.approx(float(np.median(part)))
    assert covered == values


def test_a_single_pause_in_a_million_steps_is_seen() -> None:
    steps = np.full(1_000_000, 10.0)
    steps[777_777] = 500.0
    found = buckets(steps)
    assert len(found) == 256
    (pause,) = [bucket for bucket in found if bucket.most > 10]
    assert (pause.most, pause.median) == (500.0, 10.0)
    assert pause.first <= 777_777 <= pause.last
