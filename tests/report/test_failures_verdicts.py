"""A run's verdict on a benchmark, beside what the files of its processes say."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.failures import CellState, cell_state
from tests.support.result_files import config, end, start, write, write_state

HEAD = "Traceback (most recent call last):"
NODES = ("node1", "node2", "node3")
GONE = "has sent no heartbeat for 20 s"


@pytest.mark.parametrize("lost", NODES)
@pytest.mark.parametrize("stopped", ["cancelled", "lost"])
def test_the_verdict_on_the_benchmark_counts_whichever_node_sorts_first(
    tmp_path: Path, lost: str, stopped: str
) -> None:
    """The other nodes were stopped; earlier versions recorded that as cancelled."""
    why = f"{lost} {GONE}"
    write_state(tmp_path, "failed", {"b": "lost"}, {"b": why})
    for node in NODES:
        ended = end(-15, outcome=stopped, reason=why)
        settings = config("b", tag=["b", "0", node])
        stderr = "" if node == lost else "last words\n"
        write(
            tmp_path, f"b.0.{node}", settings, start(), "" if node == lost else ended, stderr=stderr
        )
    made = report_of([tmp_path])
    (row,) = made.rows
    assert cell_state(made, row) == CellState("lost", why)
    assert {failure.outcome for failure in made.failures} == {stopped, "lost"}


@pytest.mark.parametrize("first", NODES)
def test_the_lines_of_the_process_that_the_verdict_names(tmp_path: Path, first: str) -> None:
    why = "rank 1: ValueError: no"
    write_state(tmp_path, "failed", {"b": "failed"}, {"b": f"{first}: {why}"})
    for node in NODES:
        reason = why if node == first else "rank 0: RuntimeError: Connection closed by peer"
        said = HEAD + "\n" + reason.partition(": ")[2]
        settings = config("b", tag=["b", "0", node])
        ended = end(1, outcome="failed", reason=reason)
        write(tmp_path, f"b.0.{node}", settings, start(), ended, stderr=said)
    made = report_of([tmp_path])
    assert cell_state(made, made.rows[0]) == CellState("Traceback", "ValueError: no")


@pytest.mark.parametrize(("outcome", "word"), [("cancelled", "cancelled"), ("failed", "not begun")])
def test_what_waits_in_a_run_that_has_ended_never_begins(
    tmp_path: Path, outcome: str, word: str
) -> None:
    write_state(tmp_path, outcome, {"a": "ok", "b": "waiting"})
    made = report_of([tmp_path])
    row = next(row for row in made.rows if row.name == "b")
    why = "it never ran: the run ended before it began"
    assert cell_state(made, row) in (CellState(word, why), CellState(word, why[14:]))
    assert made.runs[0].waiting == ()


def test_a_rank_that_a_signal_killed(tmp_path: Path) -> None:
    """The traceback of the rank that waited for it is not its own."""
    why = "rank 1: killed by SIGKILL"
    stderr = f"[rank0]: {HEAD}\n[rank0]: RuntimeError: Connection closed by peer\n"
    write_state(tmp_path, "failed", {"b": "failed"}, {"b": why})
    ended = end(1, outcome="failed", reason=why)
    write(tmp_path, "b.0", config("b", tag=["b", "0"]), start(), ended, stderr=stderr)
    made = report_of([tmp_path])
    assert cell_state(made, made.rows[0]) == CellState("failed", why)
    assert made.failures[0].rank == 1


def test_an_empty_state_is_named_beside_a_failure_that_explains_its_benchmark(
    tmp_path: Path,
) -> None:
    write_state(tmp_path, "failed", {"b": "failed"})
    write(tmp_path, "b.0", config("b"), start(), end(1, outcome="failed", reason="it broke"))
    (tmp_path / "b" / "state.json").write_text("")
    made = report_of([tmp_path])
    assert [failure.reason for failure in made.failures] == ["it broke"]
    text = report_text(made, 1000)
    assert f"{tmp_path}/b/state.json: is not a state that this version can read" in text
