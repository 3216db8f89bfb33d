"""What is slow in a map of links, where the answer is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.link_map import SMALLEST, slow_parts

NOISE = 0.03


def speeds(nodes: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    made = 40 * np.exp(rng.normal(0, NOISE, (nodes, nodes)))
    np.fill_diagonal(made, np.nan)
    return made


def named(made: np.ndarray) -> list[tuple[str, tuple[int, ...]]]:
    return [(part.shape, part.ends) for part in slow_parts(made)]


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 6, 16, 64])
@pytest.mark.parametrize("seed", range(3))
def test_a_map_without_a_slow_part_has_none(nodes: int, seed: int) -> None:
    assert named(speeds(nodes, seed)) == []


@pytest.mark.parametrize("link", [(0, 1), (15, 14), (3, 12)])
@pytest.mark.parametrize("back", [True, False])
def test_one_slow_link_is_a_link(link: tuple[int, int], back: bool) -> None:
    made = speeds(16)
    made[link] *= 0.6
    if back:
        made[link[::-1]] *= 0.75
    (part,) = slow_parts(made)
    assert (part.shape, part.ends) == ("link", link)
    assert part.way == ("" if back else "sends")
    assert np.argwhere(part.links).tolist() == [list(link)]


@pytest.mark.parametrize("seed", range(5))
def test_a_link_of_four_ends_is_found_where_both_its_ways_are_slow(seed: int) -> None:
    """The way back of the slowest link does not count as noise."""
    made = speeds(4, seed)
    made[1, 2] *= 0.6
    made[2, 1] *= 0.6
    assert [(shape, {*ends}) for shape, ends in named(made)] == [("link", {1, 2})]


@pytest.mark.parametrize("node", [0, 15])
def test_a_slow_row_is_an_end(node: int) -> None:
    made = speeds(16)
    made[node] *= 0.8
    made[:, node] *= 0.8
    (part,) = slow_parts(made)
    assert (part.shape, part.ends) == ("end", (node,))
    assert (part.way, part.links.sum()) == ("", 30)


def test_an_end_that_only_sends_slowly_says_so() -> None:
    made = speeds(16)
    made[5] *= 0.8
    (part,) = slow_parts(made)
    assert (part.shape, part.ends) == ("end", (5,))
    assert (part.way, np.argwhere(part.links).tolist()) == (
        "sends",
        [[5, to] for to in range(16) if to != 5],
    )


@pytest.mark.parametrize("group", [(0, 1, 2, 3), (12, 13, 14, 15), (1, 4, 9, 14, 15)])
@pytest.mark.parametrize("shape", ["across", "within"])
def test_a_slow_block_is_a_group(shape: str, group: tuple[int, ...]) -> None:
    made = speeds(16)
    inside = np.isin(np.arange(16), group)
    both = inside[:, None] & inside[None]
    made[both if shape == "within" else inside[:, None] ^ inside[None]] *= 0.7
    (part,) = slow_parts(made)
    assert (part.shape, part.ends) == (shape, group)
    slow = both if shape == "within" else inside[:, None] ^ inside[None]
    assert (part.links == slow).all()


def test_of_two_equal_halves_that_of_the_first_end_is_named() -> None:
    made = speeds(16)
    inside = np.arange(16) % 2 == 1
    made[inside[:, None] ^ inside[None]] *= 0.5
    assert named(made) == [("across", tuple(range(0, 16, 2)))]


@pytest.mark.parametrize("ends", [(4, 5, 6), (2, 7, 11)])
def test_several_slow_ends_are_found_each(ends: tuple[int, ...]) -> None:
    made = speeds(16)
    inside = np.isin(np.arange(16), ends)
    made[inside[:, None] | inside[None]] *= 0.5
    assert sorted(named(made)) == [("end", (end,)) for end in ends]


def test_parts_beside_each_other_are_all_found() -> None:
    made = speeds(32)
    made[3] *= 0.5
    made[:, 3] *= 0.5
    made[20] *= 0.9
    made[:, 20] *= 0.9
    made[8, 30] *= 0.3
    assert sorted(named(made)) == [("end", (3,)), ("end", (20,)), ("link", (8, 30))]


def test_what_is_clear_but_small_is_not_named() -> None:
    made = 40 + np.zeros((16, 16))
    made[2] *= 1 - SMALLEST / 2
    assert named(made) == []
    made[2] *= 1 - SMALLEST
    assert named(made) == [("end", (2,))]


def test_links_that_are_not_known_are_not_slow() -> None:
    made = speeds(16)
    made[:4] = np.nan
    made[9, 10] = 0  # no speed
    made[12] *= 0.5
    assert named(made) == [("end", (12,))]
    assert named(np.full((8, 8), np.nan)) == []


def test_both_ways_may_be_one_number() -> None:
    made = np.triu(speeds(16))
    made[made == 0] = np.nan
    made[1, 14] *= 0.5
    (part,) = slow_parts(made)
    assert (part.shape, part.ends) == ("link", (1, 14))
    assert np.argwhere(part.links).tolist() == [[1, 14]]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3), st.permutations(range(12)))
def test_the_unit_and_the_order_of_the_ends_change_nothing(
    seed: int, unit: float, order: list[int]
) -> None:
    made = speeds(12, seed)
    made[0] *= 0.5
    made[4, 5] *= 0.4
    moved = made[np.ix_(order, order)] * unit
    expected = [("end", (order.index(0),)), ("link", (order.index(4), order.index(5)))]
    assert sorted(named(moved)) == expected
