from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.distributed.pipelining import schedules

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.marks import EXPOSED
from benchmarks.common.strategies import pipeline
from benchmarks.gpt import model as gpt
from tests.support.fake_ranks import fake_ranks
from tests.support.fake_time import CountedWaits, Time, timer_of
from tests.support.fake_training import described_stage
from tests.support.strategies import SHAPE, options, workload

MESSAGE, GATHER, REDUCE = 3.0, 2.0, 11.0  # ms of waits
FORWARD, BACKWARD, LOSS, SCALE = 4.0, 7.0, 1.0, 0.5  # ms of own work
CHUNKS, STEPS = 4, 2


@pytest.fixture
def build():
    """Makes a pipeline in a process group of this process alone."""
    group = Group.join("cpu")

    def make(argv):
        args = options(f"--mode pipeline {argv}")
        return strategies.build(args, workload(args), group)

    return make


def test_a_pipeline_of_one_rank_has_no_bubble_and_all_parameters(build):
    metrics = build("--schedule GPipe --chunks 4").metrics()
    single = strategies.build(
        options("--mode single"), workload(options("--mode single")), Group.alone("cpu")
    )
    assert metrics["chunks"] == 4
    assert metrics["bubble_at_most"] == 0.0
    assert metrics["parameters_held"] == single.metrics()["parameters_held"]


def test_a_schedule_that_asks_for_other_microbatches_is_refused_with_its_reason(build):
    with pytest.raises(UnsupportedError, match=r"^DualPipeV with 1 microbatches: "):
        build("--schedule DualPipeV --chunks 1")


class Rank:
    """A rank of a pipeline on a clock moved by hand, beside ranks that send nothing."""

    def __init__(self, patch):
        self.clock, self.patch = Time(), patch
        self.spent = Counter()  # ms of its last step
        self.slow(schedules, "_wait_batch_p2p", "messages", MESSAGE)
        self.slow(FSDPParamGroup, "wait_for_unshard", "gathers", GATHER)
        self.slow(FSDPParamGroup, "finalize_backward", "reductions", REDUCE)
        self.slow(pipeline.PipelineStage, "scale_grads", "own", SCALE)

    def take(self, what, ms):
        self.clock.sleep(ms)
        self.spent[what] += ms

    def slow(self, owner, name, what, ms):
        right = getattr(owner, name)

        def slowed(first, *args, **kwargs):
            count = len(first) if what == "messages" else 1
            if what == "gathers":  # FSDP asks before each pass, and gathers what is not there
                count = int(self.gathers and first._all_gather_result is not None)
            self.take(what, count * ms)
            return right(first, *args, **kwargs)

        self.patch.setattr(owner, name, slowed)

    def passed(self, _module, _inputs, output):
        self.take("own", FORWARD)
        output.register_hook(lambda _: self.take("own", BACKWARD))

    def loss(self, scores, batch):
        self.take("own", LOSS)
        return gpt.stage_loss(scores, batch)

    def train(self, argv, ranks, rank):
        """The mean of each part in ms, and the marks of a step."""
        args = options(f"{argv} --chunks {CHUNKS}")
        self.gathers = args.replicated_by == "fully_shard"
        work = replace(workload(args), stage_loss=self.loss)
        words = torch.zeros(8 * ranks, SHAPE.block, dtype=torch.long)
        stage = partial(described_stage, args, work, words)
        self.patch.setattr(pipeline, "_Stage", stage)
        with fake_ranks(ranks, rank) as group:
            strategy = strategies.build(args, work, group)
            for stage in strategy.model.values():
                for block in work.blocks(stage):
                    block.attention.register_forward_hook(self.passed)
            waits = CountedWaits(self.clock)
            assert strategy.mark_waits(waits)
            timer = timer_of(self.clock, [], parts=("passes", "optimizer"), waits=waits)
            for _ in timer.steps(range(9), STEPS, warmup=2):
                self.spent.clear()
                waits.made = 0
                strategy.forward_backward((words, words))
                marks = waits.made
                timer.lap()
                strategy.step()
        return {name: sum(ms) / STEPS for name, ms in timer.part_ms.items()}, marks


@pytest.fixture
def planted(monkeypatch):
    return Rank(monkeypatch)


@pytest.mark.parametrize("schedule", pipeline.SCHEDULES)
@pytest.mark.parametrize("rank", [0, 1])
def test_what_is_between_the_passes_is_exposed(planted, schedule, rank):
    parts, marks = planted.train(f"--mode pipeline --schedule {schedule}", 2, rank)
    spent = planted.spent
    assert parts == {"passes": spent["own"], "optimizer": 0.0, EXPOSED: spent["messages"]}
    assert spent["own"] > CHUNKS * (FORWARD + BACKWARD)
    assert spent["messages"] >= 2 * CHUNKS * MESSAGE
    assert marks <= 2 + 2 * (3 * 2 + 1) * CHUNKS + 2 * 2  # of passes, the loss, the mean


@pytest.mark.parametrize(
    ("argv", "rank"),
    [
        ("--schedule GPipe", 0),
        ("--schedule 1F1B --reshard-after-forward", 3),
        ("--schedule 1F1B --replicated-by replicate", 0),
        ("--schedule Interleaved1F1B", 3),
        ("--schedule LoopedBFS --reshard-after-forward", 0),
        ("--schedule ZBVZeroBubble", 3),
    ],
)
@pytest.mark.filterwarnings("ignore:FSDP2-wrapped module")
def test_replicas_wait_also_for_parameters_and_gradients(planted, argv, rank):
    parts, marks = planted.train(f"--mode pdp {argv}", 4, rank)
    own = planted.spent.pop("own")
    assert parts == {"passes": own, "optimizer": 0.0, EXPOSED: sum(planted.spent.values())}
    assert planted.spent["reductions"] > 0
    assert marks < 200
