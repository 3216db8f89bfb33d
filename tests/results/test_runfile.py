import json
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results.runfile import BenchmarkState, RunState


def state() -> RunState:
    return RunState(
        "mine", "0.1", 1.0, ["milabench"], "small", "x.yaml", {}, {}, [], [BenchmarkState("b")]
    )


def test_it_is_replaced_whole(tmp_path: Path):
    path = tmp_path / "run.json"
    path.write_text("the old one")
    state().save(path)
    assert json.loads(path.read_text())["benchmarks"][0]["outcome"] == "waiting"
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_a_folder_that_went_away_is_named(tmp_path: Path):
    with pytest.raises(RunDirError, match=r"cannot write .*run\.json: No such file"):
        state().save(tmp_path / "gone" / "run.json")
