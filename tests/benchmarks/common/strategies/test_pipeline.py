import pytest

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from tests.support.strategies import options, workload


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
