"""One global batch for all modes, and enough microbatches."""

import pytest
import torch
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import get_schedule_class

from benchmarks.common import strategies
from benchmarks.common.strategies import pipeline
from benchmarks.common.strategies.batches import (
    chunks,
    in_flight,
    pipeline_size,
    replica_batch,
    replica_ranks,
    stages_per_rank,
    tensor_size,
)
from tests.support.fake_ranks import fake_ranks
from tests.support.strategies import options


@pytest.mark.parametrize("ranks", [4, 8, 64])
@pytest.mark.parametrize("mode", strategies.MODES[1:])
def test_ranks_share_one_global_batch_in_every_mode(mode, ranks):
    args = options(f"--mode {mode}", batch_size=6)
    replicas, rest = divmod(ranks, replica_ranks(args, ranks))
    assert rest == 0
    assert replicas * replica_batch(args, ranks) == 6 * ranks


def test_one_device_has_the_batch_of_a_rank():
    assert replica_batch(options("--mode single", batch_size=6), 1) == 6


@pytest.mark.parametrize(
    ("argv", "ranks", "size"),
    [
        ("--mode tp", 8, 8),
        ("--mode tp-fsdp", 8, 2),
        ("--mode tp-fsdp", 1, 1),
        ("--mode tp-fsdp --tp-size 4", 8, 4),
        ("--mode fsdp", 8, 1),
    ],
)
def test_how_many_ranks_share_a_matrix(argv, ranks, size):
    assert tensor_size(options(argv), ranks) == size


@pytest.mark.parametrize(
    ("argv", "batch", "size", "stages", "microbatches"),
    [
        ("pipeline", 8, 4, 1, 16),
        ("pipeline", 10, 4, 1, 20),  # 4 does not divide 10
        ("pipeline", 7, 4, 1, 28),
        ("pipeline --schedule GPipe --stages-per-rank 3", 16, 4, 1, 16),
        ("pipeline --schedule Interleaved1F1B", 16, 4, 2, 32),
        ("pipeline --schedule Interleaved1F1B --stages-per-rank 3", 12, 4, 3, 48),
        ("pipeline --schedule Interleaved1F1B --chunks 6", 16, 4, 2, 6),
        ("pdp", 16, 2, 1, 8),
        ("pdp --ndevice-per-proc 4 --schedule ZBVZeroBubble", 8, 4, 2, 32),
    ],
)
def test_a_stage_has_at_least_four_microbatches(argv, batch, size, stages, microbatches):
    args = options(f"--mode {argv}", batch_size=batch)
    assert pipeline_size(args, 4) == size
    assert stages_per_rank(args) == stages
    assert chunks(args, 4) == microbatches
    assert replica_batch(args, 4) % microbatches == 0 or args.chunks


def order(args, group):
    """The passes of a rank through its stages, one after the other, as PyTorch orders them."""
    size, stages = group.world_size, stages_per_rank(args)
    x = torch.zeros(1, 4)
    made = [
        PipelineStage(torch.nn.Linear(4, 4), k, size * stages, group.device, x, x)
        for k in pipeline.indices(args, group.rank, size)
    ]
    count = chunks(args, size)
    schedule = get_schedule_class(args.schedule)(made, count, loss_fn=torch.sum)
    for action in filter(None, schedule.pipeline_order[group.rank]):
        yield from getattr(action, "sub_actions", None) or [action]


@pytest.mark.parametrize(
    "argv",
    [
        *("LoopedBFS", "LoopedBFS --stages-per-rank 3", "Interleaved1F1B", "DualPipeV"),
        *("Interleaved1F1B --stages-per-rank 3", "InterleavedZeroBubble", "ZBVZeroBubble"),
    ],
)
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_passes_whose_activations_are_kept(argv, ranks):
    args = options(f"--mode pipeline --schedule {argv}", batch_size=24)
    with fake_ranks(ranks) as group:
        kept = most = 0
        for action in order(args, group):
            kept += action.computation_type.name == "FORWARD"
            kept -= action.computation_type.name in ("FULL_BACKWARD", "BACKWARD_WEIGHT")
            most = max(most, kept)
    assert in_flight(args, ranks) == most > 0


def test_a_pipeline_keeps_no_more_passes_than_there_are():
    assert in_flight(options("--mode pipeline"), 8) == 8
    assert in_flight(options("--mode pipeline --chunks 4"), 8) == 4
    assert in_flight(options("--mode pipeline --schedule GPipe"), 8) == 32
