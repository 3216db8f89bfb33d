from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.common.workload import balanced_cuts


def largest(sizes, cuts):
    return max(sum(sizes[a:b]) for a, b in pairwise(cuts))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8), st.data())
def test_no_other_cuts_have_a_smaller_largest_run(sizes, data):
    count = data.draw(st.integers(1, len(sizes)))
    cuts = balanced_cuts(sizes, count)
    assert cuts[0] == 0
    assert cuts[-1] == len(sizes)
    assert len(cuts) == count + 1
    assert cuts == sorted(set(cuts))
    others = combinations(range(1, len(sizes)), count - 1)
    assert largest(sizes, cuts) == min(largest(sizes, (0, *o, len(sizes))) for o in others)


@pytest.mark.parametrize(("count", "cuts"), [(1, [0, 4]), (2, [0, 1, 4]), (4, [0, 1, 2, 3, 4])])
def test_cuts(count, cuts):
    assert balanced_cuts([9, 1, 2, 4], count) == cuts
