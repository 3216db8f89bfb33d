"""Which devices and nodes are below the spread of their peers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.validation.spread import compare, compare_devices

ERROR = 0.003
EXACT = 2.0**-20  # sums of multiples of it are not rounded
logs = st.lists(
    st.one_of(st.integers(-30_000, 30_000), st.integers(-500_000, 200_000)), min_size=2, max_size=40
).map(lambda values: EXACT * np.array(values))


def below(values: np.ndarray, errors: np.ndarray | float = ERROR, tests: int = 0) -> list[int]:
    found = compare(values, np.broadcast_to(errors, values.shape), tests or len(values))
    return np.flatnonzero(found.are_below).tolist()


def alike(count: int, deviation: float = 0.01) -> np.ndarray:
    """Values that spread as widely as a normal distribution, in an order of no meaning."""
    places = np.linspace(-1, 1, count)
    return np.random.default_rng(count).permutation(deviation * 1.2 * np.arctanh(places * 0.95))


@pytest.mark.parametrize("count", [3, 8, 64, 1000])
@pytest.mark.parametrize("last", [False, True])
def test_one_of_devices_that_is_slow_is_found(count: int, last: bool) -> None:
    values = alike(count)
    assert below(values) == []
    bad = count - 1 if last else 0
    values[bad] = values.min() - 0.06
    assert below(values) == [bad]
    values[bad] = values.max() + 0.5  # faster is no defect
    assert below(values) == []


def test_up_to_a_third_that_are_bad_are_all_found() -> None:
    values = alike(24)
    values[:8] -= 0.1
    assert below(values) == list(range(8))
    # slowdowns of all sizes do not explain each other
    values = alike(300)
    values[:100] -= np.linspace(0.1, 0.5, 100)
    assert below(values) == list(range(100))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_slower_bins_of_silicon_are_no_defect(share: float) -> None:
    values = alike(200, 0.003)
    values[: round(200 * share)] -= 0.03
    assert below(values) == []
    values[0] = values.min() - 0.06
    assert below(values) == [0]


def test_a_tail_to_the_slower_side_is_no_defect_and_what_is_below_it_is() -> None:
    values = -0.012 * -np.log(np.linspace(1, 0.02, 64))
    assert below(values) == []
    assert below(np.append(values, values.min() - 0.06)) == [64]


def test_what_a_wide_spread_explains_is_no_defect() -> None:
    values = alike(64, 0.03)
    values[0] = values.min() - 0.03
    assert below(values) == []
    narrow = alike(64, 0.003)
    narrow[0] = values[0]
    assert below(narrow) == [0]


def test_less_than_matters_is_no_defect() -> None:
    values = alike(64, 1e-5)
    values[-1] = -0.04
    assert below(values) == []
    values[-1] = -0.05
    assert below(values) == [63]


def test_a_device_that_is_less_sure_must_be_slower() -> None:
    values, errors = alike(16), np.full(16, ERROR)
    values[3] = -0.09
    assert below(values, errors) == [3]
    errors[3] = 0.05
    assert below(values, errors) == []


def test_what_all_are_unsure_of_is_no_defect_of_one() -> None:
    values = alike(16, 0.001)  # by chance
    values[3] = -0.09
    assert below(values, 0.003) == [3]
    assert below(values, 0.05) == []


def test_what_is_unsure_or_far_faster_tells_nothing_of_the_others() -> None:
    values, errors = alike(8), np.full(8, ERROR)
    values[3] = -0.09
    values[4] += 0.4
    assert below(values) == [3]
    values[4], errors[4] = -0.2, 0.1
    assert below(values, errors) == [3]


def test_of_two_the_slower_one_is_below() -> None:
    assert below(np.array([0.0, -0.02])) == []
    assert below(np.array([-0.2, 0.0])) == [0]


def test_more_tests_need_more() -> None:
    values = alike(1000, 0.014)
    values[5] = -0.056
    assert below(values, tests=1000) == [5]
    assert below(values, tests=10**9) == []


@pytest.mark.parametrize("count", [2, 3, 8, 64])
@pytest.mark.parametrize("place", [0, -1])
def test_a_defect_as_large_as_is_told_is_found(count: int, place: int) -> None:
    values = alike(count)
    order = np.argsort(values)
    fastest = order[-1]
    smallest = compare(values, np.full(count, ERROR), 10 * count).smallest[fastest]
    values[fastest] -= smallest
    assert below(values, tests=10 * count) == [fastest]
    # a smaller one would do of a slow device
    values = alike(count)
    values[order[place]] -= smallest
    assert below(values, tests=10 * count) == [order[place]]


def test_few_peers_hide_more() -> None:
    smallest = [
        compare(alike(count), np.full(count, ERROR), count).smallest[0] for count in (2, 8, 64, 512)
    ]
    assert smallest == sorted(smallest, reverse=True)
    assert math.expm1(smallest[-1]) < 0.08 < 0.12 < math.expm1(smallest[0])


@pytest.mark.parametrize("node", [0, 7])
def test_a_node_that_is_slow_as_a_whole_is_below_the_nodes(node: int) -> None:
    values, nodes = alike(64, 0.012), np.repeat(np.arange(8), 8)
    values -= np.repeat([values[nodes == n].mean() for n in range(8)], 8)
    values[nodes == node] -= 0.06
    devices, of_nodes = compare_devices(values, np.full(64, ERROR), nodes.tolist(), 5)
    assert np.flatnonzero(of_nodes.are_below).tolist() == [node]
    assert not devices.are_below[nodes != node].any()
    # its devices alone are within the spread of devices, all but the slowest
    assert devices.are_below.sum() < 8
    order = np.random.default_rng(1).permutation(64)
    _, mixed = compare_devices(values[order], np.full(64, ERROR), nodes[order].tolist(), 5)
    assert np.flatnonzero(mixed.are_below).tolist() == [node]


def test_nodes_of_one_device_are_compared_once() -> None:
    assert compare_devices(alike(4), np.full(4, ERROR), [0, 1, 2, 3], 1)[1] is None
    assert compare_devices(alike(4), np.full(4, ERROR), [0, 0, 0, 0], 1)[1] is None


@given(logs, st.integers(-5_000_000, 5_000_000))
def test_another_unit_changes_nothing(values: np.ndarray, shift: int) -> None:
    one = compare(values, np.full(len(values), ERROR), 100)
    other = compare(values + EXACT * shift, np.full(len(values), ERROR), 100)
    assert other.limits == pytest.approx(one.limits)
    assert other.smallest == pytest.approx(one.smallest)
    assert (one.are_below == other.are_below).all()


@given(logs, st.randoms())
def test_the_order_changes_nothing(values: np.ndarray, random: object) -> None:
    order = np.arange(len(values))
    random.shuffle(order)
    assert below(values[order]) == sorted(np.argsort(order)[below(values)].tolist())


@given(logs)
def test_a_device_that_is_as_fast_as_most_is_never_below(values: np.ndarray) -> None:
    found = compare(values, np.full(len(values), ERROR), 100)
    assert not found.are_below[values >= np.median(values)].any()
    assert (found.smallest > found.limits).all()


@given(logs, st.floats(0.001, 1))
def test_a_larger_defect_is_found_where_a_smaller_one_is(values: np.ndarray, more: float) -> None:
    for index in below(values):
        slower = values.copy()
        slower[index] -= more
        assert index in below(slower)
