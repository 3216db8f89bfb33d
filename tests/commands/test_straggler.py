"""A rank of a real torchrun that is slow on purpose: the report must name it."""

import json
import re
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
    named = re.search(r"job: rank 2 is (\d+\.\d)% slower .* mostly forward", done.out)
    assert named, done.out
    assert 15 < float(named[1]) < 45  # planted: 6 of 20 ms, and what else a forward pass takes
    (row,) = json.loads(at.milabench("report", str(at.run()), "--format", "json").out)["benchmarks"]
    steps = [rank["step_ms"] for rank in row["ranks"]]
    assert len(steps) == 3
    assert max(steps) < 1.05 * min(steps)
