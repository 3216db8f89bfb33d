"""run.json and state.json, of this schema and of the first, whole and damaged."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Outcome, Status
from milabench_ddp.results.lock import alive
from milabench_ddp.results.read_state import (
    CUT_OFF,
    NEVER_BEGAN,
    read_benchmark,
    read_state,
    require_state,
)
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, JobState, RunHeader

FIRST = Path(__file__).parents[1] / "recorded" / "schema-1"


def header(*names: str, **changes: object) -> RunHeader:
    values = {
        "name": "r",
        "milabench": "1",
        "created": 1.0,
        "command": ["milabench"],
        "preset": "small",
        "config": "c.yaml",
        "machine": {},
        "suite": {name: {} for name in names},
    }
    return RunHeader(**{**values, **changes})


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return RunDir(tmp_path)


def save(run: RunDir, head: RunHeader, *states: BenchmarkState) -> None:
    write_record(run.run_json, head)
    for state in states:
        write_record(run.state_json(state.name), state)


def test_what_was_written_is_read(run: RunDir):
    state = BenchmarkState("a", Status.FAILED, "exit status 1", 1.0, 2.0, nodes=("n0",))
    save(run, header("a", "b", outcome=Outcome.FAILED), state)
    found = require_state(run)
    assert found.header.outcome is Outcome.FAILED
    never = BenchmarkState("b", Status.NOT_BEGUN, NEVER_BEGAN)
    assert found.benchmarks == {"a": state, "b": never}
    assert list(found.benchmarks) == ["a", "b"]


def test_a_benchmark_that_nobody_goes_on_with_is_lost_and_its_run_too(run: RunDir):
    save(run, header("a", "b"), BenchmarkState("a", Status.RUNNING))
    found = require_state(run)
    assert (found.benchmarks["a"].status, found.benchmarks["a"].reason) == (Status.LOST, CUT_OFF)
    assert found.benchmarks["b"] == BenchmarkState("b", Status.NOT_BEGUN, NEVER_BEGAN)
    assert found.header.outcome is Outcome.LOST


@pytest.mark.parametrize(
    ("outcome", "status"), [("cancelled", Status.CANCELLED), ("failed", Status.NOT_BEGUN)]
)
def test_what_waits_in_a_run_that_has_ended_never_begins(run: RunDir, outcome: str, status: Status):
    save(run, header("a", "b", outcome=Outcome(outcome)), BenchmarkState("a", Status.OK))
    found = require_state(run).benchmarks
    assert (found["a"].status, found["b"].status) == (Status.OK, status)
    assert found["b"].reason == NEVER_BEGAN


@pytest.mark.parametrize("locked", ["run", "benchmark"])
def test_a_run_goes_on_while_a_lock_is_held(run: RunDir, locked: str):
    save(run, header("a"), BenchmarkState("a", Status.RUNNING))
    mine = alive(run.benchmark("a"))
    with mine, alive(run.path) if locked == "run" else nullcontext():
        found = require_state(run)
    assert found.benchmarks["a"].status is Status.RUNNING
    assert found.header.outcome is None


def test_a_run_waits_while_the_scheduler_has_a_job_of_it(run: RunDir):
    job = JobState("all", 2, ("a",), "12")
    save(run, header("a", jobs=[job]))
    assert require_state(run).header.outcome is None
    job.state = "COMPLETED"
    save(run, header("a", jobs=[job]))
    assert require_state(run).header.outcome is Outcome.LOST


def test_a_run_of_schema_1_on_one_host():
    found = require_state(RunDir(FIRST))
    assert found.header.outcome is Outcome.OK
    assert len(found.benchmarks) == 11
    assert {state.status for state in found.benchmarks.values()} == {Status.OK}
    (launch,) = found.benchmarks["flops-fp32"].launches
    assert len(launch.processes) == 2
    assert launch.verdict.is_ok


def old(tmp_path: Path, *entries: dict[str, object], **more: object) -> RunDir:
    """A run folder of schema 1."""
    values = json.loads((FIRST / "run.json").read_text())
    values |= {"benchmarks": list(entries), "outcome": None, "ended": None, **more}
    (tmp_path / "run.json").write_text(json.dumps(values))
    return RunDir(tmp_path)


def entry(name: str, outcome: str, **more: object) -> dict[str, object]:
    return {"name": name, "outcome": outcome, "reason": "", "launches": [], **more}


def test_a_run_of_schema_1_that_was_cut_off(tmp_path: Path):
    run = old(tmp_path, entry("a", "running"), entry("b", "waiting"))
    assert require_state(run).benchmarks["a"].status is Status.LOST
    with alive(tmp_path):
        assert require_state(run).benchmarks["a"].status is Status.RUNNING


def test_a_run_of_schema_1_on_several_nodes(tmp_path: Path):
    job = {"name": "all", "nodes": 2, "points": ["a", "b"], "id": "7", "state": "COMPLETED"}
    run = old(tmp_path, entry("a", "waiting"), entry("b", "waiting"), jobs=[job])
    (tmp_path / "a").mkdir()
    own = entry("a", "timeout", nodes=["n0", "n1"], cut_short=True, started=1.0, ended=2.0)
    (tmp_path / "a" / "state.json").write_text(json.dumps(own))
    found = require_state(run)
    assert found.header.jobs == [JobState("all", 2, ("a", "b"), "7", "COMPLETED")]
    assert found.benchmarks["a"].status is Status.TIMEOUT
    assert found.benchmarks["a"].interrupted
    assert not found.benchmarks["a"].is_final
    assert found.benchmarks["b"].status is Status.NOT_BEGUN


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}x", '{"name": 3}', '{"benchmarks": 3}', '{"jobs": [3], "suite": []}']
)
def test_a_damaged_run_json_is_told_once_and_never_read(run: RunDir, text: str):
    run.run_json.write_text(text)
    defects = []
    assert read_state(run, lambda path, _: defects.append(path)) is None
    assert defects == [run.run_json]
    with pytest.raises(RunDirError, match=r"run\.json was not written by this version"):
        require_state(run)


@pytest.mark.parametrize("name", ["x" * 256, "漢" * 86, "..", "../other", "/etc", "", "nul\0"])
def test_a_name_that_no_file_can_have_names_no_benchmark(run: RunDir, name: str):
    save(run, header("a", name), BenchmarkState("a", Status.OK))
    defects = []
    found = read_state(run, lambda path, error: defects.append((path, str(error))))
    assert found is not None
    assert list(found.benchmarks) == list(found.header.suite) == ["a"]
    assert defects == [(run.run_json, f"`{name[:40]}` cannot name a benchmark")]


def test_a_damaged_state_json_leaves_the_others(run: RunDir):
    save(run, header("a", "b"), BenchmarkState("b", Status.OK))
    run.benchmark("a").mkdir()
    run.state_json("a").write_text('{"name": "a", "status": "fine"}')
    defects = []
    found = read_state(run, lambda path, error: defects.append((path, str(error))))
    assert found is not None
    assert found.benchmarks["b"].status is Status.OK
    ((path, error),) = defects
    assert path == run.state_json("a")
    assert "fine" in error
    assert read_benchmark(run, "a") is None


def test_no_run_json(run: RunDir):
    assert read_state(run, lambda *_: pytest.fail("nothing is damaged")) is None
    with pytest.raises(RunDirError, match=r"cannot read .*run\.json: No such file"):
        require_state(run)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(Status.OK, Outcome.OK), (Status.FAILED, Outcome.FAILED), (Status.CANCELLED, None)],
)
def test_a_run_whose_job_still_ends_is_not_lost(
    run: RunDir, status: Status, outcome: Outcome | None
):
    """Nobody follows the job; one that is cancelled may start again."""
    job = JobState("all", 2, ("a",), "12")
    save(run, header("a", jobs=[job]), BenchmarkState("a", status, ended=2.0))
    assert require_state(run).header.outcome is outcome


def test_the_words_of_an_earlier_run_tell_what_kept_a_benchmark_from_running(run: RunDir):
    save(run, header("a"), BenchmarkState("a", Status.OK))
    raw = json.loads(run.run_json.read_text())
    reasons = ("disabled by the preset small", "disabled (--override b.enabled=false)", "no GPU")
    raw["skipped"] = [{"name": reason, "reason": reason} for reason in reasons]
    run.run_json.write_text(json.dumps(raw))
    skipped = require_state(run).header.skipped
    assert [each.kind for each in skipped] == ["disabled", "left out", "unable"]
