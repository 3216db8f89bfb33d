"""Names of runs on the command line."""

from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.report.comparison.sides import Side
from tests.support.compared_runs import launched


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("a1", "a2", "b,c"):
        launched(Path("runs") / name, {"b": [100.0]})
    return Path("runs")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("runs/a1", ["a1"]),
        ("runs/a1,runs/a2", ["a1", "a2"]),
        ("runs/a1,runs/a2,", ["a1", "a2"]),
        ("runs/a*", ["a1", "a2"]),
        ("runs/[!b]*", ["a1", "a2"]),
        ("run*", ["a1", "a2", "b,c"]),
        ("runs", ["a1", "a2", "b,c"]),
        ("runs/b,c", ["b,c"]),
    ],
)
def test_what_names_stand_for(runs: Path, given: str, expected: list[str]) -> None:
    assert [run.path for run in Side.read(given).runs] == [runs / name for name in expected]


@pytest.mark.parametrize("given", ["", ",", "runs/x*", "*.yaml"])
def test_names_of_no_run(runs: Path, given: str) -> None:
    with pytest.raises(RunDirError, match=r"names no run|no run folder matches"):
        Side.read(given)
