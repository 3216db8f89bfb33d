"""Own work and waits under tensor parallelism, on a clock moved by hand: each wait is known."""

import pytest
import torch
import torch.distributed._functional_collectives as collectives
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

from benchmarks.common import strategies
from benchmarks.common.marks import EXPOSED
from tests.support.fake_ranks import fake_ranks
from tests.support.fake_time import CountedWaits, Time, timer_of
from tests.support.strategies import SHAPE, batch, options, workload

FORWARD, BACKWARD = 4.0, 7.0  # ms of each block
COLLECTIVE, GATHER = 3.0, 2.0  # ms of each wait
PARTS = ("forward", "backward", "optimizer")


class Rank:
    """A rank of two or four beside others that send nothing."""

    def __init__(self, patch):
        self.clock, self.waited, self.count = Time(), 0.0, 0
        self.slow(patch, collectives, "wait_tensor", COLLECTIVE)
        self.slow(patch, FSDPParamGroup, "wait_for_unshard", GATHER)

    def slow(self, patch, owner, name, ms):
        right = getattr(owner, name)

        def slowed(*args):
            self.clock.sleep(ms)
            self.waited += ms
            self.count += 1
            return right(*args)

        patch.setattr(owner, name, slowed)

    def passed(self, _module, _inputs, output):
        self.clock.sleep(FORWARD)
        output.register_hook(lambda _: self.clock.sleep(BACKWARD))

    def train(self, argv, ranks=2, marked=True):
        """The parts of a step in ms, and the strategy."""
        args = options(argv)
        with fake_ranks(ranks, ranks - 1) as group:
            work = workload(args)
            strategy = strategies.build(args, work, group)
            waits = CountedWaits(self.clock)
            assert strategy.mark_waits(waits) is marked
            if not marked:
                return {}, strategy
            for block in work.blocks(strategy.model):
                block.attention.register_forward_hook(self.passed)
            timer = timer_of(self.clock, [], parts=PARTS, waits=waits)
            for step in timer.steps(range(2), 1, warmup=1):
                self.waited, self.count, waits.made = 0.0, 0, 0
                loss = strategy.forward(batch(step, 0))
                timer.lap()
                strategy.backward(loss)
                self.marks = waits.made
                timer.lap()
                strategy.step()
        return {name: sum(ms) for name, ms in timer.part_ms.items()}, strategy


@pytest.fixture
def planted(monkeypatch):
    return Rank(monkeypatch)


@pytest.mark.parametrize(
    ("argv", "ranks"),
    [
        ("--mode tp", 2),
        ("--mode tp --sequence-parallel", 4),
        ("--mode tp --activation checkpoint --clip-norm 1", 2),
        ("--mode tp-fsdp", 4),
        ("--mode tp-fsdp --sequence-parallel --clip-norm 1", 4),
    ],
)
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
def test_waits_for_collectives_are_exposed_and_all_else_is_own(planted, argv, ranks):
    parts, _ = planted.train(argv, ranks)
    again = FORWARD if "checkpoint" in argv else 0.0
    assert parts == {
        "forward": SHAPE.layers * FORWARD,
        "backward": SHAPE.layers * (BACKWARD + again),
        "optimizer": 0.0,
        EXPOSED: planted.waited,
    }
    assert planted.waited >= 4 * SHAPE.layers * COLLECTIVE
    if "fsdp" not in argv:
        assert planted.marks <= 2 * planted.count


def test_the_marks_of_a_later_strategy_replace_those_of_an_earlier_one(planted):
    planted.train("--mode tp")
    first = planted.marks
    planted.train("--mode tp")
    assert planted.marks == first


@pytest.mark.parametrize("mode", ["tp", "tp-fsdp"])
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
def test_waits_inside_graphs_are_not_known_and_the_program_says_so(planted, mode):
    _, strategy = planted.train(f"--mode {mode} --compile eager", marked=False)
    assert "inside their graphs" in strategy.metrics()["waits_unknown"]
    assert torch.distributed._functional_collectives.wait_tensor.__name__ == "slowed"
