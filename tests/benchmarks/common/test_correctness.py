"""The verdict on a strategy: right ones pass, and each planted error is seen."""

import math
from argparse import Namespace
from dataclasses import replace

import pytest
import torch

from benchmarks.common import correctness, strategies
from benchmarks.common.correctness import TOLERANCES, RankResult, Trained
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from tests.support.strategies import batch, option_parser, workload

ALONE = Group(torch.device("cpu"))


def verdict(argv="", plant=lambda strategy: None, **changes):
    args = option_parser().parse_args(["--mode", "single", *argv.split()])
    vars(args).update(changes)

    def planted(*given):
        strategy = strategies.build(*given)
        plant(strategy)
        return strategy

    return correctness.check(args, workload(args), ALONE, planted, batch)


@pytest.mark.parametrize("argv", ["", "--accumulate 2", "--activation checkpoint"])
def test_what_is_right_passes(argv):
    found = verdict(argv)
    assert found.ok
    assert found.gradient_error < 1e-5
    assert found.replicas_equal
    assert found.payload()["reference"] == "single"


def scale_a_gradient(strategy):
    first = next(strategy.model.parameters())
    first.register_hook(lambda gradient: 1.01 * gradient)


def forget_a_gradient(strategy):
    strategy.model.head.score.weight.requires_grad_(False)


def start_elsewhere(strategy):
    with torch.no_grad():
        next(strategy.model.parameters()).mul_(1.5)


def never_step(strategy):
    strategy.step = strategy.model.zero_grad


@pytest.mark.parametrize(
    "plant", [scale_a_gradient, forget_a_gradient, start_elsewhere, never_step]
)
def test_what_is_planted_is_seen(plant):
    found = verdict(plant=plant)
    assert not found.ok
    assert max(found.gradient_error, found.loss_error) > found.tolerance
    assert found.payload()["ok"] is False


def scale_a_gradient_by_little(strategy):
    first = next(strategy.model.parameters())
    first.register_hook(lambda gradient: (1 + 1e-8) * gradient)


def test_what_fp32_cannot_see_is_seen_in_fp64():
    assert verdict(plant=scale_a_gradient_by_little).ok
    found = verdict(plant=scale_a_gradient_by_little, check_fp32_in="fp64")
    assert not found.ok
    assert found.payload()["precision"] == "fp64"
    assert 1e-10 < found.gradient_error < 1e-7
    right = verdict(check_fp32_in="fp64")
    assert right.ok
    assert right.gradient_error < 1e-12


def test_only_fp32_is_checked_in_another_precision():
    assert verdict(precision="bf16", check_fp32_in="fp64").precision == "bf16"


ONES = torch.ones(4)
REFERENCE = Trained([2.0, 1.0], {"a": ONES, "b": ONES}, {})
RIGHT = RankResult([2.0, 1.0], {"a": 0.0, "b": 0.0}, {("a",): "x", ("b", 0): "y"})


def compared(*ranks):
    return correctness.compare(REFERENCE, ranks, 1e-4, "fp32")


def test_ranks_that_agree():
    other = replace(RIGHT, losses=[math.nan, math.nan], hashes={("a",): "x", ("b", 1): "z"})
    assert compared(RIGHT, other).ok


def test_one_wrong_copy_is_enough():
    wrong = compared(RIGHT, replace(RIGHT, differences={"a": 0.08, "b": 0.0}))
    assert wrong.gradient_error == pytest.approx(0.1)  # sqrt(0.08 / 8)
    assert not wrong.ok


def test_a_gradient_that_nobody_has_is_wrong_by_all_of_it():
    assert compared(replace(RIGHT, differences={"a": 0.0})).gradient_error == pytest.approx(
        0.5**0.5
    )


def test_copies_that_differ_by_a_bit():
    wrong = compared(RIGHT, replace(RIGHT, hashes={("a",): "other"}))
    assert not wrong.replicas_equal
    assert not wrong.ok


def test_the_worst_step_counts():
    assert compared(replace(RIGHT, losses=[2.2, 1.0])).loss_error == pytest.approx(0.1)


@pytest.mark.parametrize("losses", [[math.nan, 1.0], [math.inf, 1.0]])
def test_a_loss_that_is_no_number(losses):
    wrong = compared(replace(RIGHT, losses=losses))
    assert not wrong.ok
    assert wrong.payload()["loss_error"] is None


def coarse(**given):
    plain = {"precision": "fp32", "comm_hook": "none", "mixed_precision": "none"}
    return correctness.tolerance(Namespace(**plain | {"reduce_dtype": "none"} | given))


def test_the_coarsest_type_on_the_way_is_the_tolerance():
    assert coarse() == TOLERANCES["fp32"]
    assert coarse(precision="amp", comm_hook="fp16") == TOLERANCES["amp"]
    assert coarse(comm_hook="fp16") == TOLERANCES["fp16"]
    assert coarse(mixed_precision="bf16", reduce_dtype="fp32") == TOLERANCES["bf16"]
    with pytest.raises(UnsupportedError, match="PowerSGD approximates gradients"):
        coarse(comm_hook="powersgd")
