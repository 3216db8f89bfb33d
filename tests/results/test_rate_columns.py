from math import nan

from milabench_ddp.results.rate_columns import RateColumns, joined
from tests.support.observed import Observation, rate_columns

OURS = [
    Observation(5.0, 2, True, 0, 1.0),
    Observation("fast", None, False, 1, 2.0),
    Observation(7.0, 2, False, 1, 3.0),
    Observation(7.0, 2, False, 1, 3.0, repeated=True),
    Observation(nan, 2, False, 0, 4.0),
    Observation(0.0, 2, False, 0, 5.0),
]


def test_which_observations_count() -> None:
    assert rate_columns(OURS).counts.tolist() == [False, False, True, False, False, True]


def test_the_observations_of_each_rank() -> None:
    found = rate_columns(OURS).by_rank()
    assert {rank: each.time.tolist() for rank, each in found.items()} == {
        0: [1.0, 4.0, 5.0],
        1: [2.0, 3.0, 3.0],
    }
    assert RateColumns.none().by_rank() == {}


def test_the_observations_of_several_files() -> None:
    parts = [rate_columns(OURS[:2]), rate_columns(OURS[2:])]
    whole = joined(parts)
    assert whole.time.tolist() == rate_columns(OURS).time.tolist()
    assert whole.warmup.tolist() == rate_columns(OURS).warmup.tolist()
    assert joined(parts[:1]) is parts[0]
