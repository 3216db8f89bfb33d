import pytest
import torch

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.strategies.strategy import Accumulated
from tests.support.strategies import batch, options, workload

ALONE = Group(torch.device("cpu"))


def build(argv):
    args = options(argv)
    return strategies.build(args, workload(args), ALONE)


def test_parts_add_up_to_the_batch():
    whole, parts = build("--mode single"), build("--mode single --accumulate 4")
    assert isinstance(parts, Accumulated)
    losses = [float(s.forward_backward(batch(0, 0))) for s in (whole, parts)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for one, other in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, atol=1e-6)
    parts.step()
    assert all(p.grad is None for p in parts.model.parameters())


def test_accumulation_interleaves_the_passes():
    assert not build("--mode single").interleaved
    assert build("--mode single --accumulate 2").interleaved
