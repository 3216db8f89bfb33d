"""A rank of a real torchrun that is slow on purpose: the report must name it, and the part."""

import json
from pathlib import Path

import pytest

from tests.support.workplace import Workplace

SLOW_RANK = Path(__file__).parents[1] / "benchmarks" / "slow_rank.py"


@pytest.mark.slow
@pytest.mark.parametrize("part", ["forward", "backward"])
def test_a_slow_rank_is_named_though_all_step_times_are_equal(at: Workplace, part: str):
    job = {"program": str(SLOW_RANK), "argv": [part], "plan": {"method": "njobs", "n": 1}}
    at.write("suite.yaml", json.dumps({"job": job}))
    on_cpu = ("--device", "cpu", "--gpus", "3", "--name", "mine")
    done = at.milabench("run", "suite.yaml", *on_cpu)
    assert done.code == 0, done.err
    assert "job: rank 2 is 19.4% slower" in done.out  # 37 ms of its own work against 31
    assert f"mostly {part}" in done.out
    (row,) = json.loads(at.milabench("report", str(at.run()), "--format", "json").out)["benchmarks"]
    assert [rank["step_ms"] for rank in row["ranks"]] == [37.0] * 3
    assert [rank["own_ms"] for rank in row["ranks"]] == [31.0, 31.0, 37.0]
    exposed = [rank["part_ms"]["exposed_communication"][0] for rank in row["ranks"]]
    assert exposed == pytest.approx([6.0, 6.0, 0.0])
