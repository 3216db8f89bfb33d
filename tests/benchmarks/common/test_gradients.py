"""How far the results of all ranks are from those of one device."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from benchmarks.common.gradients import (
    Difference,
    Expected,
    Gradient,
    RankResult,
    Trained,
    compare,
    differences,
    gradients,
    relative_error,
    worst_copies,
)
from benchmarks.common.group import Group

ONES = torch.ones(4)
EXPECTED = Expected([2.0, 1.0], {"a": ONES, "b": ONES}, {})
A, B = ("a",), ("b",)
NONE = Difference(4, 4.0, 0.0)
RIGHT = RankResult([2.0, 1.0], {A: NONE, B: NONE}, {("a",): "x", ("b", 0): "y"}, {})


def test_ranks_that_agree():
    other = replace(RIGHT, losses=[math.nan, math.nan], hashes={("a",): "x", ("b", 1): "z"})
    found = compare(EXPECTED, [RIGHT, other])
    assert (found.gradient_error, found.scale_error, found.loss_error) == (0, 0, 0)
    assert found.replicas_equal


def test_one_wrong_copy_is_enough():
    wrong = replace(RIGHT, differences={A: Difference(4, 4.0, 0.08), B: NONE})
    for ranks in ([RIGHT, wrong], [wrong, RIGHT]):
        assert compare(EXPECTED, ranks).gradient_error == pytest.approx(0.1)  # sqrt(0.08 / 8)


def test_a_copy_that_is_no_number_is_the_worst():
    wrong = {A: Difference(4, 4.0, math.nan, math.nan), B: NONE}
    larger = {A: Difference(4, 4.0, 8.0, 8.0), B: NONE}
    for copies in ([larger, wrong], [wrong, larger]):
        assert math.isnan(worst_copies(copies)[A].squares)


def test_a_gradient_that_nobody_has_is_wrong_by_all_of_it():
    found = compare(EXPECTED, [replace(RIGHT, differences={A: NONE})])
    assert found.gradient_error == pytest.approx(0.5**0.5)
    assert found.scale_error == pytest.approx(0.5)


def test_shards_add_up_and_a_missing_one_is_seen():
    halves = [{A: NONE, ("b", k): Difference(2, 2.0, 0.0)} for k in range(2)]
    both = [replace(RIGHT, differences=half) for half in halves]
    assert compare(EXPECTED, both).gradient_error == 0
    assert compare(EXPECTED, both[:1]).gradient_error == pytest.approx(0.5**0.5)


def test_copies_that_differ_by_a_bit():
    assert not compare(EXPECTED, [RIGHT, replace(RIGHT, hashes={("a",): "o"})]).replicas_equal


def test_the_worst_step_counts():
    assert compare(EXPECTED, [replace(RIGHT, losses=[2.2, 1.0])]).loss_error == pytest.approx(0.1)


@pytest.mark.parametrize("losses", [[math.nan, 1.0], [math.inf, 1.0], [math.nan, 1.5]])
def test_a_loss_that_is_no_number(losses):
    assert not math.isfinite(compare(EXPECTED, [replace(RIGHT, losses=losses)]).loss_error)


def test_rounding_has_no_scale():
    """Of an error of 1 % in every number at random, the scale sees less than a tenth."""
    generator = torch.Generator().manual_seed(0)
    right = torch.randn(10_000, generator=generator, dtype=torch.float64)
    noise = 0.01 * torch.randn(10_000, generator=generator, dtype=torch.float64)
    expected = Expected([1.0], {"a": right}, {})
    errors = []
    for wrong in (right + noise * right, 1.01 * right):
        mine = Trained([1.0], {"a": Gradient(A, wrong)}, {}, {})
        found = differences(mine, expected, Group(torch.device("cpu")))
        errors.append(compare(expected, [RankResult([1.0], found, {}, {})]))
    assert errors[0].gradient_error == pytest.approx(0.01, rel=0.1)
    assert errors[0].scale_error < 1e-3
    assert errors[1].gradient_error == pytest.approx(0.01)
    assert errors[1].scale_error == pytest.approx(0.01)


def test_gradients_keep_fp64_and_raise_sixteen_bits():
    for dtype, kept in ((torch.float64, torch.float64), (torch.bfloat16, torch.float32)):
        model = nn.Linear(2, 2).to(dtype)
        model(torch.ones(1, 2, dtype=dtype)).sum().backward()
        assert {g.values.dtype for g in gradients(model).values()} == {kept}
    assert relative_error({"a": 1.01 * ONES}, {"a": ONES}) == pytest.approx(0.01)
