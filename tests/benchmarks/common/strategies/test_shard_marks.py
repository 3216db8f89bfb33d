"""Own work and waits under FSDP2, on a clock moved by hand: each wait takes a known time."""

from itertools import repeat

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.utils.checkpoint import checkpoint

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.marks import EXPOSED, Waits
from benchmarks.common.strategies.shard_marks import ShardMarks
from tests.support.fake_time import CountedWaits, Time, timer_of
from tests.support.strategies import batch, options, workload

FORWARD, BACKWARD, EMBEDDING = 4.0, 7.0, 5.0  # of each block, and of the gradient of the embedding
BLOCKS = 3
GATHER, REDUCE, LAST = 3.0, 2.0, 11.0  # of each, and at the end of the backward pass
clock = Time()


class Takes(torch.autograd.Function):
    """The identity, whose passes take time."""

    @staticmethod
    def forward(ctx, x, forward, backward):
        clock.sleep(forward)
        ctx.backward = backward
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        clock.sleep(ctx.backward)
        return gradient, None, None


class Block(nn.Linear):
    again = False  # whether the backward pass computes the block once more
    passes_on = False  # whether it returns the scale, too, as T5's blocks do their position bias

    def forward(self, x, scale=None):
        out = checkpoint(self.work, x, use_reentrant=False) if self.again else self.work(x)
        out = out if scale is None else out * scale
        return (out, scale) if self.passes_on else out

    def work(self, x):
        return super().forward(Takes.apply(x, FORWARD, BACKWARD))


class Model(nn.Module):
    """An embedding and blocks; the outputs are a loss and, for nobody, the scores."""

    def __init__(self, variant):
        super().__init__()
        self.with_first = variant in ("several inputs", "passes on")
        self.embedding = nn.Embedding(8, 16)
        self.blocks = nn.ModuleList(Block(16, 16) for _ in range(BLOCKS))
        for block in self.blocks:
            block.again = variant == "checkpoint"
            block.passes_on = variant == "passes on"
        self.head = nn.Linear(16, 16)

    def forward(self, words):
        x = Takes.apply(self.embedding(words), 0.0, EMBEDDING)
        first = x
        for block in self.blocks:
            x = block(x, scale=first) if self.with_first else block(x)
            if block.passes_on:
                x, first = x
        x = self.head(x)
        return {"loss": x.square().mean(), "scores": x}


@pytest.fixture
def spent(monkeypatch):
    """The milliseconds that FSDP has taken: at each of its waits, as long as it is told."""
    found = [0.0]

    def slow(name, ms):
        right = getattr(FSDPParamGroup, name)

        def slowed(group, *args):
            clock.sleep(ms)
            found[0] += ms
            return right(group, *args)

        monkeypatch.setattr(FSDPParamGroup, name, slowed)

    slow("wait_for_unshard", GATHER)
    slow("post_backward", REDUCE)
    slow("finalize_backward", LAST)
    return found


@pytest.mark.parametrize(
    "variant", ["", "no reshard", "checkpoint", "several inputs", "passes on", "ends apart"]
)
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
def test_what_fsdp_takes_is_exposed_and_all_else_is_own(spent, variant, passes):
    Group.join("cpu")
    model = Model(variant)
    mesh = init_device_mesh("cpu", (1,))
    ends = [model.embedding, model.head] if variant == "ends apart" else []
    for module in (*model.blocks, *ends, model):
        fully_shard(module, mesh=mesh, reshard_after_forward=variant != "no reshard")
    waits = Waits(clock)
    marks = ShardMarks(model, waits)
    timer = timer_of(clock, [], parts=("forward_backward", "optimizer"), waits=waits)
    for _ in timer.steps(repeat(None), 3, warmup=2):
        spent[0] = 0.0
        for _ in range(passes):
            model(torch.arange(8))["loss"].backward()
            marks.passed()
        timer.lap()
        model.zero_grad()
    again = FORWARD if variant == "checkpoint" else 0.0
    own = passes * (BLOCKS * (FORWARD + again + BACKWARD) + EMBEDDING)
    assert list(timer.part_ms["forward_backward"]) == [own] * 3
    assert list(timer.part_ms[EXPOSED]) == [spent[0]] * 3
    assert spent[0] > (BLOCKS + 1) * (GATHER + REDUCE + LAST)


@pytest.mark.parametrize(
    ("argv", "marks"),
    [
        ("--mode fsdp", True),
        ("--mode fsdp --clip-norm 1", True),
        ("--mode hsdp", True),
        ("--mode tp-fsdp", True),
    ],
)
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
def test_which_strategies_mark_their_waits(argv, marks):
    args = options(argv)
    strategy = strategies.build(args, workload(args), Group.join("cpu"))
    time, waits = Time(), CountedWaits(clock)
    assert strategy.mark_waits(waits) is marks
    timer = timer_of(time, [], parts=("forward_backward", "optimizer"), waits=waits)
    begun = []
    for step in timer.steps(range(1), 1, warmup=0):
        strategy.forward_backward(batch(step, 0))
        begun.append(waits.made)
        timer.lap()
        strategy.step()
        begun.append(waits.made)
    assert (begun[0] > 0) is marks
    assert begun[1] - begun[0] == (2 if "clip" in argv else 0)
