"""The verdict on a strategy: right ones pass, and each planted error is seen."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from benchmarks.common.data import split_batch
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.verdict import Scale
from benchmarks.common.workload import Workload
from tests.support.planted_check import frozen, keep_the_gradients, lose_the_momentum, verdict
from tests.support.strategies import batch, workload

__all__ = ["frozen"]
pytestmark = pytest.mark.usefixtures("frozen")


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "amp"])
@pytest.mark.parametrize("argv", ["", "--accumulate 2", "--activation checkpoint"])
def test_what_is_right_passes(argv, precision):
    found = verdict(argv, precision=precision)
    assert found.ok
    assert found.gradient_error < 1e-14
    assert found.replicas_equal
    told = found.payload()
    assert (told["reference"], told["precision"], told["steps"]) == ("single", "fp64", 3)
    if precision == "fp64":
        assert "in_own_types" not in told
    else:
        own = told["in_own_types"]
        assert (own["precision"], own["steps"]) == (precision, 2)
        assert own["gradient_error"] < own["tolerance"] < 1e-2


def test_gradients_that_overflow_at_the_first_scale_of_training_are_compared():
    """Training would skip such a step: 65536 times them are not finite in fp16."""

    def steep(args):
        work = workload(args)
        return replace(work, loss=lambda model, batch: 100 * work.loss(model, batch))

    found = verdict(precision="amp-fp16", work=steep)
    assert found.ok
    assert found.in_own_types.gradient_error < 1e-3


def scale_a_gradient(strategy):
    first = next(strategy.model.parameters())
    first.register_hook(lambda gradient: 1.01 * gradient)


def scale_a_gradient_by_little(strategy):
    first = next(strategy.model.parameters())
    first.register_hook(lambda gradient: (1 + 1e-8) * gradient)


def forget_a_gradient(strategy):
    strategy.model.head.score.weight.requires_grad_(False)


def start_elsewhere(strategy):
    with torch.no_grad():
        next(strategy.model.parameters()).mul_(1.5)


def never_step(strategy):
    strategy.step = strategy.model.zero_grad


PLANTED = [
    scale_a_gradient,
    scale_a_gradient_by_little,
    forget_a_gradient,
    start_elsewhere,
    never_step,
    lose_the_momentum,
    keep_the_gradients,
]


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "amp"])
@pytest.mark.parametrize("plant", PLANTED)
def test_what_is_planted_is_seen_in_every_precision(plant, precision):
    found = verdict(plant=plant, precision=precision)
    assert not found.ok
    assert max(found.gradient_error, found.loss_error) > found.tolerance
    assert found.payload()["ok"] is False


def test_in_fp64_a_lost_momentum_needs_three_steps():
    assert verdict(plant=lose_the_momentum, check_steps=2, precision="fp64").ok
    assert not verdict(plant=lose_the_momentum, check_steps=3, precision="fp64").ok


def test_an_error_in_fp64_is_one_of_the_mode():
    assert verdict(plant=scale_a_gradient).advice().startswith("look at the mode")
    assert verdict(plant=scale_a_gradient, precision="fp64").advice().startswith("look at the mode")


class Noisy(nn.Module):
    """A batch norm and a dropout."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Linear(4, 16), nn.BatchNorm1d(16)
        self.dropout, self.last = nn.Dropout(0.5), nn.Linear(16, 3)

    def forward(self, x):
        return self.last(self.dropout(torch.relu(self.norm(self.first(x)))))


def noisy(args):
    def loss(model, given):
        return nn.functional.cross_entropy(model(given[0]), given[1])

    return Workload(Noisy, loss, lambda model: [model.norm], split_batch)


def points(step, replica):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(8, 4, generator=generator), torch.randint(3, (8,), generator=generator)


@pytest.mark.parametrize("argv", ["", "--accumulate 2", "--activation checkpoint"])
def test_batch_norm_and_dropout_are_on(argv):
    found = verdict(argv, work=noisy, batches=points)
    assert found.ok
    assert found.gradient_error < 1e-14
    assert found.covers == ("dropout", "batch norm")
    assert found.leaves_out == ("running statistics",)
    assert found.payload()["covers"] == ["dropout", "batch norm"]


def freeze_the_batch_norm(strategy):
    strategy.model.norm.train = lambda mode: strategy.model.norm
    strategy.model.norm.training = False


def drop_more(strategy):
    strategy.model.dropout.p = 0.51


def draw_other_masks(strategy):
    strategy.model.dropout.register_forward_pre_hook(lambda *_: torch.rand(1) and None)


@pytest.mark.parametrize("plant", [freeze_the_batch_norm, drop_more, draw_other_masks])
def test_wrong_batch_norm_and_wrong_dropout_are_seen(plant):
    assert not verdict(work=noisy, batches=points, plant=plant).ok


@pytest.mark.slow
def test_where_masks_would_differ_dropout_is_off():
    found = verdict("--compile eager", work=noisy, batches=points)
    assert found.ok
    assert found.covers == ("batch norm",)
    assert found.leaves_out == ("dropout", "running statistics")


def test_a_loss_that_is_no_number_is_never_right():
    right = verdict()
    assert right.ok
    for wrong in (
        replace(right, loss_error=float("nan")),
        replace(right, gradient_error=float("nan")),
        replace(right, scale_error=float("nan")),
        replace(right, replicas_equal=False),
        replace(right, gradient_scale=Scale("w", float("nan"), 1.0)),
        replace(right, update_scale=Scale("w", float("nan"), 1.0)),
        replace(right, in_own_types=replace(right.in_own_types, gradient_error=1.0)),
    ):
        assert not wrong.ok
    assert replace(right, loss_error=float("inf")).payload()["loss_error"] is None


def test_what_is_meant_to_differ_is_refused():
    with pytest.raises(UnsupportedError, match="PowerSGD approximates gradients"):
        verdict("--mode ddp --comm-hook powersgd")


@pytest.mark.parametrize("precision", ["fp64", "amp"])
def test_kernels_are_deterministic_in_the_check_and_as_before_afterwards(monkeypatch, precision):
    cudnn, seen = torch.backends.cudnn, set()
    monkeypatch.setattr(cudnn, "benchmark", True)
    monkeypatch.setattr(cudnn, "deterministic", False)

    def watched(step, replica):
        seen.add((cudnn.benchmark, cudnn.deterministic))
        return batch(step, replica)

    assert verdict(precision=precision, batches=watched).ok
    assert seen == {(False, True)}
    assert (cudnn.benchmark, cudnn.deterministic) == (True, False)

    def fails(step, replica):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        verdict(batches=fails)
    assert (cudnn.benchmark, cudnn.deterministic) == (True, False)
