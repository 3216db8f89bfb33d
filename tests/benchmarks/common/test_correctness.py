"""The verdict on a strategy: right ones pass, and each planted error is seen."""

import gc
from dataclasses import replace

import pytest
import torch
from torch import nn

from benchmarks.common import correctness, strategies
from benchmarks.common.data import split_batch
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.verdict import Scale
from benchmarks.common.workload import Workload
from tests.support.strategies import batch, option_parser, workload

ALONE = Group(torch.device("cpu"))


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """A check collects garbage twice, which would look at all of torch: three quarters of it."""
    gc.freeze()
    yield
    gc.unfreeze()


def verdict(argv="", plant=lambda strategy: None, work=workload, batches=batch, **changes):
    args = option_parser().parse_args(["--mode", "single", *argv.split()])
    vars(args).update(changes)

    def planted(*given):
        strategy = strategies.build(*given)
        plant(strategy)
        return strategy

    return correctness.check(args, work(args), ALONE, planted, batches)


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


def lose_the_momentum(strategy):
    step = strategy.step

    def forgetful():
        step()
        strategy._optimizer._torch.state.clear()

    strategy.step = forgetful


def keep_the_gradients(strategy):
    """They add up from step to step."""
    strategy._optimizer._torch.zero_grad = lambda: None


PLANTED = [
    scale_a_gradient,
    scale_a_gradient_by_little,
    forget_a_gradient,
    start_elsewhere,
    never_step,
    lose_the_momentum,
    keep_the_gradients,
]


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


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp"])
def test_an_error_of_the_own_types_alone_is_seen(precision):
    """All gradients are wrong by a hundredth, but not in fp64: the exact check cannot see it."""

    def scale_all(strategy):
        for parameter in strategy.model.parameters():
            if strategy._precision.name != "fp64":
                parameter.register_hook(lambda gradient: 1.01 * gradient)

    found = verdict(plant=scale_all, precision=precision)
    assert not found.ok
    assert found.gradient_error < 1e-14
    assert found.in_own_types.scale_error > found.in_own_types.scale_tolerance
    assert precision in found.differences()
    assert found.advice().startswith("exact numbers are right")


OWN_TYPES = ["fp32", "bf16", "amp", "amp-fp16"]
ONE_PARAMETER = {
    "first": lambda parameters: parameters[0],
    "last": lambda parameters: parameters[-1],
    "largest": lambda parameters: max(parameters, key=torch.numel),
    "smallest": lambda parameters: min(parameters, key=torch.numel),
    "bias": lambda parameters: parameters[3],
}


def in_own_types_alone(plant):
    """The same error, but not in fp64: the exact check cannot see it."""
    return lambda strategy: strategy._precision.name == "fp64" or plant(strategy)


@pytest.mark.parametrize("precision", OWN_TYPES)
@pytest.mark.parametrize("which", ONE_PARAMETER)
def test_a_hundredth_of_one_parameter_in_the_own_types_alone_is_seen(which, precision):
    def scale_one(strategy):
        named = dict(strategy.model.named_parameters())
        chosen = ONE_PARAMETER[which](list(named.values()))
        chosen.register_hook(lambda gradient: 1.01 * gradient)
        names.extend(name for name, parameter in named.items() if parameter is chosen)

    names = []
    found = verdict(plant=in_own_types_alone(scale_one), precision=precision)
    assert not found.ok
    assert found.gradient_error < 1e-14
    worst = found.in_own_types.gradient_scale
    assert [worst.parameter] == names
    assert worst.error > worst.tolerance
    assert f"the scale of gradients of {names[0]} by 0.0" in found.differences()


def divide_by_too_little(strategy):
    """As a gradient scaler does whose scale is not that of the loss."""
    step, scaler = strategy.step, strategy._scaler

    def scaled():
        right = scaler.get_scale()
        scaler.update(right / 1.01)
        step()
        scaler.update(right)

    strategy.step = scaled


def learn_faster(strategy):
    for group in strategy._optimizer._torch.param_groups:
        group["lr"] *= 1.01


def update_twice(strategy):
    step = strategy.step

    def twice():
        gradients = [p.grad.clone() for p in strategy.model.parameters()]
        step()
        for parameter, gradient in zip(strategy.model.parameters(), gradients, strict=True):
            parameter.grad = gradient
        step()

    strategy.step = twice


def forget_one_parameter(strategy):
    """The optimizer does not know it."""
    strategy._optimizer._torch.param_groups[0]["params"].pop(3)


@pytest.mark.parametrize(
    ("precision", "plant"),
    [
        (precision, plant)
        for precision in OWN_TYPES
        for plant in (learn_faster, update_twice, forget_one_parameter, lose_the_momentum)
    ]
    + [("amp-fp16", divide_by_too_little)],
)
def test_a_wrong_update_in_the_own_types_alone_is_seen(plant, precision):
    found = verdict(plant=in_own_types_alone(plant), precision=precision)
    assert not found.ok
    assert found.gradient_error < 1e-14
    assert not found.in_own_types.update_scale.ok
    assert found.payload()["in_own_types"]["scale_of_updates"]["error"] > 5e-3


@pytest.mark.parametrize("precision", OWN_TYPES)
def test_an_optimizer_that_rounds_is_right(precision):
    found = verdict("--optimizer adamw", precision=precision)
    assert found.ok
    assert found.in_own_types.update_scale.error < 3e-3
    assert not verdict(
        "--optimizer adamw", plant=in_own_types_alone(learn_faster), precision=precision
    ).ok


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp"])
def test_gradients_of_the_step_before_are_seen_in_the_own_types_alone(precision):
    found = verdict(plant=in_own_types_alone(keep_the_gradients), precision=precision)
    assert not found.ok
    assert found.gradient_error < 1e-14


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
