"""Errors that exist in the program's own types alone, and not in fp64, are seen."""

import pytest
import torch

from tests.support.planted_check import frozen, keep_the_gradients, lose_the_momentum, verdict

__all__ = ["frozen"]
pytestmark = pytest.mark.usefixtures("frozen")


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
