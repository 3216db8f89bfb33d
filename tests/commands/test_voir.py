"""An unmodified script under voir, through the whole command: plain python, and torchrun."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.workplace import Workplace, row

EXAMPLE = Path(__file__).resolve().parents[1] / "benchmarks" / "voir_example"
SUITE = """
_voir:
  program: example/train.py
  argv: ["20000"]
  instrument: voir
  voir: {options: {stop: 10}}
  max_duration: 600
alone: {inherits: _voir, plan: {method: per_gpu}}
ranks: {inherits: _voir, plan: {method: njobs}}
"""


@pytest.mark.slow
def test_its_metrics_arrive_like_any_other(at: Workplace):
    shutil.copytree(EXAMPLE, at.folder / "example", ignore=shutil.ignore_patterns("__pycache__"))
    at.write("suite.yaml", SUITE)
    done = at.milabench("run", "suite.yaml", "--device", "cpu", "--gpus", "2", "--name", "mine")
    assert done.code == 0, done.out
    for name, files in (("alone", "2"), ("ranks", "1")):
        assert row(done.out, name)[1:3] == ["0", files]
    for path in at.run().glob("*.data"):
        events = [json.loads(line) for line in path.read_text().splitlines()]
        phases = [e["data"]["name"] for e in events if e["event"] == "phase"]
        assert phases[0] == "init"
        assert phases[-1] == "finalize"
        rates = [e["data"]["rate"] for e in events if e["event"] == "data" and "rate" in e["data"]]
        # voir stops it after 10: its 20,000 steps sleep for 40 s at least, 800 observations
        assert 10 <= len(rates) < 100
    for path in at.run().glob("*.stdout"):
        assert "final loss" not in path.read_text()
