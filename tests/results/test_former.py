import os
from pathlib import Path
from typing import Any

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome, Status
from milabench_ddp.results.former import NEWEST, former_runs
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, LaunchState, ProcessState, RunHeader
from tests.support.run_headers import header


def made(
    runs: Path, name: str, age: float, seconds: dict[str, float], **changes: Any
) -> tuple[RunDir, RunHeader]:
    """A run that ended ``age`` seconds ago, and how long each launch took."""
    run, found = RunDir(runs / name), header("a", "b", name=name)
    found.machine = {"accelerators": {"arch": "cpu", "gpus": {}}, "host": {"cpu": {"brand": "x"}}}
    for key, value in changes.items():
        setattr(found, key, value)
    run.path.mkdir(parents=True)
    write_record(run.run_json, found)
    os.utime(run.run_json, (1e9 - age, 1e9 - age))
    for benchmark, took in seconds.items():
        process = ProcessState(f"{benchmark}.D0", 1, 0, Outcome.OK, "", 10.0, 10.0 + took)
        launch = LaunchState(None, Outcome.OK, "", (process,))
        state = BenchmarkState(benchmark, Status.OK, launches=[launch])
        write_record(run.state_json(benchmark), state)
    return run, found


def test_the_newest_run_that_had_a_benchmark_counts(tmp_path: Path) -> None:
    made(tmp_path, "old", 300.0, {"a": 10.0, "b": 20.0})
    made(tmp_path, "new", 200.0, {"a": 12.0})
    run, found = made(tmp_path, "mine", 0.0, {"b": 99.0})
    assert former_runs(run, found) == {"a": 12.0, "b": 20.0}
    watched = former_runs(run, found, with_own=True)
    assert watched == {"b": 99.0, "a": 12.0}


def test_other_machines_settings_and_damaged_runs_do_not_count(tmp_path: Path) -> None:
    other = {"accelerators": {"arch": "cuda", "gpus": {"0": {"product": "H100"}}}, "host": {}}
    made(tmp_path, "gpu", 1.0, {"a": 1.0, "b": 1.0}, machine=other)
    made(
        tmp_path,
        "longer",
        2.0,
        {"a": 2.0, "b": 3.0},
        suite={"a": {"argv": ["-n", "9"]}, "b": {"max_duration": 60.0}},
    )
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    run, found = made(tmp_path, "mine", 0.0, {})
    assert former_runs(run, found) == {"b": 3.0}


def test_a_launch_that_failed_tells_no_duration(tmp_path: Path) -> None:
    run, _ = made(tmp_path, "bad", 1.0, {})
    process = ProcessState("a.D0", 1, 1, Outcome.FAILED, "no", 10.0, 11.0)
    launch = LaunchState(None, Outcome.FAILED, "no", (process,))
    write_record(run.state_json("a"), BenchmarkState("a", Status.FAILED, launches=[launch]))
    mine, found = made(tmp_path, "mine", 0.0, {})
    assert former_runs(mine, found) == {}


def test_only_the_newest_are_looked_at(tmp_path: Path) -> None:
    made(tmp_path, "old", 1000.0, {"a": 1.0})
    for age in range(NEWEST):
        made(tmp_path, f"r{age}", float(age + 1), {})
    run, found = made(tmp_path, "mine", 0.0, {})
    assert former_runs(run, found) == {}
