import json
import re
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results.defects import DefectKind
from milabench_ddp.results.lock import alive
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.read_state import CUT_OFF, DAMAGED, NEVER_BEGAN
from milabench_ddp.results.state import JobState
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    going_on,
    line,
    rate,
    start,
    write,
    write_state,
)


def test_a_run_of_milabench() -> None:
    run = read_run(RECORDED / "milabench" / "rijubigo")
    assert run.name == "rijubigo"
    assert run.state is None
    assert [record.tag for record in run.records] == [
        "benchio.0.R0",
        "benchio.0.R1",
        "benchio.1.R0",
        "benchio.1.R1",
    ]
    assert [record.repeat for record in run.records] == ["R0", "R1", "R0", "R1"]
    assert run.defects == ()


def test_files_that_do_not_count_are_named(tmp_path: Path) -> None:
    write_state(tmp_path, "ok", {"b": "ok"}, name="mine")
    write(tmp_path, "a", line("message", "hello"))
    write(tmp_path, "b.D0", config("b"), start(), rate(1.0), end())
    write(tmp_path, "c")
    run = read_run(tmp_path)
    assert run.name == "mine"
    assert [record.tag for record in run.records] == ["b.D0"]
    assert [(d.path.name, d.kind) for d in run.defects] == [
        ("a.data", DefectKind.NO_CONFIG),
        ("c.data", DefectKind.EMPTY),
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", "\udcff"])
def test_a_damaged_run_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    run = read_run(tmp_path)
    assert (run.state, run.records) == (None, ())
    assert [d.kind for d in run.defects] == [DefectKind.BAD_STATE]


def message(path: Path) -> str:
    with pytest.raises(RunDirError) as caught:
        read_run(path)
    return str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path.parent)
    write(tmp_path / "runs" / "monday", "b", config("b"))
    write(tmp_path / "runs" / "friday", "b", config("b"))
    runs = tmp_path / "runs"
    assert message(runs / "mondey") == f"no run folder {runs}/mondey: did you mean `monday`?"
    assert message(runs / "x") == f"no run folder {runs}/x; {runs} has friday, monday"
    assert message(tmp_path / "monday") == (
        f"no run folder {tmp_path}/monday: did you mean `{runs}/monday`?"
    )
    assert message(tmp_path / "no" / "x") == (f"no run folder {tmp_path}/no/x, and no runs in runs")


def test_a_folder_that_is_none_of_a_run(tmp_path: Path) -> None:
    what = "is not a run folder: it has neither a run.json nor .data files"
    (tmp_path / "empty").mkdir()
    assert message(tmp_path / "empty") == f"{tmp_path}/empty {what}; it is empty"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    assert message(tmp_path / "other") == f"{tmp_path}/other {what}"
    for k in range(7):
        write(tmp_path / "base" / "runs" / f"r{k}", "b", config("b"))
    runs = tmp_path / "base" / "runs"
    some = ", ".join(f"{runs}/r{k}" for k in range(5))
    assert message(runs) == f"{runs} {what}, but it holds runs: name one of {some} and 2 more"
    assert message(runs.parent).endswith(f"but it holds runs: name one of {some} and 2 more")


def test_a_file_is_no_run(tmp_path: Path) -> None:
    path = write(tmp_path, "b", config("b"))
    assert message(path) == f"{path} is a file: name the run folder, {tmp_path}"


def states(folder: Path) -> tuple[object, dict[str, str], dict[str, str]]:
    """Of the run, and of each benchmark with the reasons."""
    state = read_run(folder).state
    assert state is not None
    named = state.benchmarks.items()
    return (
        state.header.outcome,
        {name: str(benchmark.status) for name, benchmark in named},
        {name: benchmark.reason for name, benchmark in named if benchmark.reason},
    )


def test_a_run_that_goes_on_and_is_cut_off(tmp_path: Path) -> None:
    write_state(tmp_path, None, {"a": "ok", "b": "running", "c": "waiting"})
    with going_on(tmp_path, "b"):
        assert states(tmp_path) == (None, {"a": "ok", "b": "running", "c": "waiting"}, {})
    assert states(tmp_path) == (
        "lost",
        {"a": "ok", "b": "lost", "c": "not begun"},
        {"b": CUT_OFF, "c": NEVER_BEGAN},
    )


def test_a_benchmark_speaks_for_itself(tmp_path: Path) -> None:
    """Its own file says how it fares; without its coordinator it is lost."""
    states_ = {"a": "timeout", "b": "running", "c": "waiting"}
    write_state(tmp_path, None, states_, {"a": "too long"})
    with alive(tmp_path / "b"):  # its coordinator is elsewhere; the command may be gone
        assert states(tmp_path) == (None, states_, {"a": "too long"})
    outcome, found, why = states(tmp_path)
    assert (outcome, found) == ("lost", {"a": "timeout", "b": "lost", "c": "not begun"})
    assert why["b"] == "the run was cut off"


@pytest.mark.parametrize(
    ("jobs", "outcome"),
    [
        ([JobState("all", 1, ("b",), "7")], None),
        ([JobState("all", 1, ("b",), "7", "FAILED")], "lost"),
        ([], "lost"),
    ],
)
def test_what_waits_for_a_job_of_a_cluster(
    tmp_path: Path, jobs: list[JobState], outcome: str | None
) -> None:
    write_state(tmp_path, None, {"a": "ok", "b": "waiting"}, jobs=jobs)
    of_b = "not begun" if outcome else "waiting"
    assert states(tmp_path)[:2] == (outcome, {"a": "ok", "b": of_b})


@pytest.mark.parametrize("content", ["{", ""])
def test_a_state_file_that_is_damaged_is_a_defect(tmp_path: Path, content: str) -> None:
    """The others count; of this benchmark nothing is known."""
    write_state(tmp_path, "failed", {"a": "failed", "b": "ok"})
    (tmp_path / "a" / "state.json").write_text(content)
    run = read_run(tmp_path)
    assert [(d.path.name, d.kind) for d in run.defects] == [("state.json", DefectKind.BAD_STATE)]
    assert states(tmp_path) == ("failed", {"a": "lost", "b": "ok"}, {"a": DAMAGED})


def test_of_a_run_of_schema_1_what_run_json_says_counts(tmp_path: Path) -> None:
    """Its benchmark on several nodes has a file of its own, which is damaged."""
    state = json.loads((RECORDED / "schema-1" / "run.json").read_text())
    entry = {"name": "a", "outcome": "running", "reason": "", "launches": []}
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "state.json").write_text("{")
    (tmp_path / "run.json").write_text(json.dumps({**state, "benchmarks": [entry]}))
    run = read_run(tmp_path)
    assert [(d.path.name, d.kind) for d in run.defects] == [("state.json", DefectKind.BAD_STATE)]
    assert states(tmp_path) == ("ok", {"a": "lost"}, {"a": "the run was cut off"})


@pytest.mark.parametrize(
    ("of", "known"), [("run.json", 2), ("b.0.data", 4)], ids=["its state", "a result file"]
)
def test_a_result_of_a_newer_schema_is_refused_by_name(tmp_path: Path, of: str, known: int) -> None:
    write_state(tmp_path, "ok", {"b": "ok"}, name="mine")
    write(tmp_path, "b.0", config("b", schema=4), start(), end())
    assert read_run(tmp_path).defects == ()
    text = (tmp_path / of).read_text()
    (tmp_path / of).write_text(re.sub(r'"schema": *\d', '"schema": 99', text, count=1))
    with pytest.raises(RunDirError, match=f"{of} was written by a newer milabench") as error:
        read_run(tmp_path)
    assert str(error.value).endswith(f"its schema is 99, and this version reads up to {known}")
