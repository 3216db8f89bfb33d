import pytest
import torch
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.strategies import sharded
from tests.support.fake_ranks import fake_ranks
from tests.support.sent import Sent
from tests.support.strategies import BATCH, SHAPE, batch, options, workload


@pytest.fixture
def build():
    """Makes a sharded strategy in a process group of this process alone."""
    group = Group.join("cpu")

    def make(argv):
        args = options(argv)
        return strategies.build(args, workload(args), group)

    return make


@pytest.mark.parametrize(
    ("argv", "ranks", "size"),
    [("", 8, 4), ("--shard-size 2", 8, 2), ("", 1, 1), ("", 2, 1)],
)
def test_half_of_the_ranks_share_one_copy(argv, ranks, size):
    assert sharded.shard_size(options(f"--mode hsdp {argv}"), ranks) == size


def test_the_policy_names_both_types():
    policy = sharded.policy(options("--mode fsdp --mixed-precision bf16"))
    assert (policy.param_dtype, policy.reduce_dtype) == (torch.bfloat16, torch.float32)


def test_each_block_and_the_ends_are_sharded_apart(build):
    strategy = build("--mode fsdp")
    parts = [m for m in strategy.model.modules() if isinstance(m, FSDPModule)]
    assert len(parts) == 3 + 2 + 1  # the ends, and the rest, which has no parameter
    assert all(isinstance(p, DTensor) for p in strategy.model.parameters())


def test_gradients_stay_on_their_rank_until_the_last_part(build, monkeypatch):
    strategy = build("--mode fsdp")
    said = []
    monkeypatch.setattr(strategy.model, "set_requires_gradient_sync", said.append)
    with pytest.raises(KeyError), strategy.unsynced():
        raise KeyError
    assert said == [False, True]


def sent_in_a_step(argv, ranks):
    """What rank 0 of ``ranks`` sends in its second step."""
    args = options(argv)
    with fake_ranks(ranks) as group:
        strategy = strategies.build(args, workload(args), group)
        for step in range(2):
            with Sent() as sent:
                strategy.forward_backward(batch(step, 0))
                strategy.step()
    return sent


@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
@pytest.mark.parametrize(
    ("argv", "ends", "blocks"),
    [("", 1, 2), ("--reshard-after-forward", 2, 2), ("--no-reshard-after-forward", 1, 1)],
)
def test_the_ends_are_gathered_once_in_a_step(argv, ends, blocks):
    sent = sent_in_a_step(f"--mode fsdp {argv}", 2)
    apart, together = sum(SHAPE.end_parameters), SHAPE.layers * SHAPE.block_parameters
    gathered = sent.sizes["allgather_base"]
    assert len(gathered) == 2 * ends + SHAPE.layers * blocks
    assert sum(gathered) == 4 * (ends * apart + blocks * together)
    assert sum(sent.sizes["reduce_scatter_base"]) == 4 * (apart + together)


@pytest.mark.parametrize("argv", ["--mode tp", "--mode tp --sequence-parallel", "--mode tp-fsdp"])
def test_no_rank_is_sent_the_scores_of_all_words(argv):
    sent = sent_in_a_step(argv, 4)
    tokens = BATCH * SHAPE.block
    hidden = 4 * tokens * SHAPE.width  # what tensor parallelism sends around each block
    assert sent.largest < 4 * tokens * SHAPE.vocabulary
    assert "tp-fsdp" in argv or sent.largest == hidden
    # Of each token the largest score, the sum of exponentials, and the score of the target.
    assert sent.sizes["all_reduce"].count(4 * tokens) == 3


class Block(nn.Module):
    """A block that remembers which block is to be gathered when."""

    def __init__(self):
        super().__init__()
        self.forward_next, self.backward_next, self.gathered = None, None, []

    def set_modules_to_forward_prefetch(self, blocks):
        (self.forward_next,) = blocks

    def set_modules_to_backward_prefetch(self, blocks):
        (self.backward_next,) = blocks

    def unshard(self, async_op):
        self.gathered.append(async_op)

    def forward(self, x):
        return x


@pytest.fixture
def blocks(monkeypatch):
    monkeypatch.setattr(sharded, "FSDPModule", Block)
    return [Block() for _ in range(3)]


def test_by_itself_nothing_is_prefetched(blocks):
    sharded.prefetch(blocks, "noop")
    assert [b.forward_next for b in blocks] == [b.backward_next for b in blocks] == [None] * 3


def test_before_a_block_computes_its_neighbours_are_asked_for(blocks):
    sharded.prefetch(blocks, "prehook")
    first, second, third = blocks
    assert [b.forward_next for b in blocks] == [second, third, None]
    assert [b.backward_next for b in blocks] == [None, first, second]


def test_after_the_call_of_a_block_the_next_is_asked_for(blocks):
    sharded.prefetch(blocks, "posthook")
    first, second, third = blocks
    first(0)
    assert (first.gathered, second.gathered, third.gathered) == ([], [True], [])


@pytest.mark.parametrize("prefetch", ["noop", "prehook", "posthook"])
def test_prefetching_changes_no_number(build, prefetch):
    plain, early = build("--mode fsdp"), build(f"--mode fsdp --prefetch {prefetch}")
    losses = [float(strategy.forward_backward(batch(0, 0))) for strategy in (plain, early)]
    assert losses[0] == losses[1]
