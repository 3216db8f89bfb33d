import pytest

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies.pipeline import chunks, pipeline_size, stages_per_rank
from tests.support.strategies import options, workload


@pytest.mark.parametrize(
    ("argv", "size", "stages", "microbatches"),
    [
        ("--mode pipeline", 4, 1, 4),
        ("--mode pipeline --schedule GPipe --stages-per-rank 3", 4, 1, 4),
        ("--mode pipeline --schedule Interleaved1F1B", 4, 2, 8),
        ("--mode pipeline --schedule Interleaved1F1B --stages-per-rank 3", 4, 3, 12),
        ("--mode pipeline --schedule Interleaved1F1B --chunks 16", 4, 2, 16),
        ("--mode pdp", 2, 1, 2),
        ("--mode pdp --ndevice-per-proc 4 --schedule ZBVZeroBubble", 4, 2, 8),
    ],
)
def test_the_sizes_of_a_pipeline_over_four_ranks(argv, size, stages, microbatches):
    args = options(argv)
    assert pipeline_size(args, 4) == size
    assert stages_per_rank(args) == stages
    assert chunks(args, 4) == microbatches


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
