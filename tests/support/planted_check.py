"""A check of gradients of one process, in which an error can be planted."""

import gc

import pytest
import torch

from benchmarks.common import correctness, strategies
from benchmarks.common.group import Group
from tests.support.strategies import batch, option_parser, workload

ALONE = Group(torch.device("cpu"))


@pytest.fixture(scope="module")
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


def lose_the_momentum(strategy):
    step = strategy.step

    def forgetful():
        step()
        strategy._optimizer._torch.state.clear()

    strategy.step = forgetful


def keep_the_gradients(strategy):
    """They add up from step to step."""
    strategy._optimizer._torch.zero_grad = lambda: None
