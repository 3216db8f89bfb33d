"""One global batch for all modes, and enough microbatches."""

import pytest

from benchmarks.common import strategies
from benchmarks.common.strategies.batches import (
    chunks,
    pipeline_size,
    replica_batch,
    replica_ranks,
    stages_per_rank,
    tensor_size,
)
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
