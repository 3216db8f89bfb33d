"""A rank of a real torchrun that is slow on purpose: the report must name it."""

import json
from pathlib import Path

import pytest

from tests.support.workplace import Workplace

SLOW_RANK = Path(__file__).parents[1] / "benchmarks" / "slow_rank.py"


@pytest.mark.slow
def test_a_slow_rank_is_named_though_all_step_times_are_equal(at: Workplace):
    suite = {"job": {"program": str(SLOW_RANK), "plan": {"method": "njobs", "n": 1}}}
    at.write("suite.yaml", json.dumps(suite))
    on_cpu = ("--device", "cpu", "--gpus", "3", "--name", "mine")
    done = at.milabench("run", "suite.yaml", *on_cpu)
    assert done.code == 0, done.err
    assert "job: rank 2 is 28.6% slower" in done.out  # 27 ms of its own work against 21
    assert "mostly forward" in done.out
    (row,) = json.loads(at.milabench("report", str(at.run()), "--format", "json").out)["benchmarks"]
    assert [rank["step_ms"] for rank in row["ranks"]] == [37.0] * 3
