"""The updates of an optimizer in its own types, beside the same in fp64."""

import pytest
import torch

from benchmarks.common import strategies
from benchmarks.common.gradients import gradients
from benchmarks.common.group import Group
from benchmarks.common.updates import Updates
from tests.support.strategies import batch, option_parser, workload


def built(precision, argv=""):
    """A strategy after its first backward pass, and what follows its updates."""
    args = option_parser().parse_args(["--mode", "single", *argv.split()])
    args.precision, args.first_loss_scale = precision, 256.0
    strategy = strategies.build(args, workload(args), Group(torch.device("cpu")))
    updates = Updates(strategy, args)
    strategy.forward_backward(batch(0, 0))
    return strategy, updates


def errors(found):
    return {part[0]: abs(d.along) / d.right for part, d in found.items()}


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize(
    ("precision", "rounding"), [("fp32", 1e-6), ("bf16", 4e-3), ("amp", 1e-6), ("amp-fp16", 1e-6)]
)
def test_right_updates_differ_by_rounding_and_parameters_return(precision, rounding, optimizer):
    strategy, updates = built(precision, f"--optimizer {optimizer}")
    first = [p.detach().clone() for p in strategy.model.parameters()]
    found = errors(updates.step(gradients(strategy.model)))
    assert max(found.values()) < rounding
    pairs = list(zip(strategy.model.parameters(), first, strict=True))
    assert not any(torch.equal(*pair) for pair in pairs)
    updates.restore()
    assert all(torch.equal(*pair) for pair in pairs)


def test_the_parameter_with_the_wrong_update_is_found():
    strategy, updates = built("bf16")
    right = gradients(strategy.model)
    strategy.model.head.score.weight.grad.mul_(1.01)  # after it was read
    found = errors(updates.step(right))
    assert found.pop("head.score.weight") == pytest.approx(0.01, rel=0.2)
    assert max(found.values()) < 4e-3


def test_what_fp16_cannot_hold_is_no_error():
    """Updates of 1e-9 are 0 in fp16: it is known that nothing is known of them."""
    strategy, updates = built("fp16")
    for parameter in strategy.model.parameters():
        parameter.grad.fill_(1e-7)  # times a learning rate of 0.1
    for lost in updates.step(gradients(strategy.model)).values():
        assert lost.along == pytest.approx(-lost.right)
        assert abs(lost.rounding_along) > lost.right
