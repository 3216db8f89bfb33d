"""Ranks, steps and files that are left out of the records of a job that was whole."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report
from milabench_ddp.report.tables.ledger_table import ledger
from milabench_ddp.report.tables.rank_tables import ranks as every_rank
from milabench_ddp.report.tables.rank_tables import stragglers as slowest_ranks
from milabench_ddp.report.tables.step_tables import steps
from tests.support.result_files import end, job, parts, rates, start, told, write
from tests.support.result_files import steps as step_times

RANKS, STEPS = 4, 20
CPU = {"kind": "cpu"}
NAMES = ("silent_rank", "missing_steps")


def rank_lines(rank: int, *, device: bool = True, count: int = STEPS) -> str:
    lines = told(rank, device=CPU) if device else ""
    if count:
        lines += parts(rank, forward=5.0, backward=5.0) + step_times(rank, [10.0] * count)
    return lines


def report(folder: Path, *lines: str, nodes: int = 1, code: int = 0) -> Report:
    """A job whose ranks wrote these lines, of which each node has as many."""
    size = len(lines) // nodes
    for node in range(nodes):
        tag = ["b", "0", f"n{node}", *(["nolog"] if node else [])] if nodes > 1 else ["b", "0"]
        settings = job("b", size, nodes, tag=tag)
        own = "".join(lines[node * size : (node + 1) * size])
        rated = "" if node else rates([100.0 + k % 3 for k in range(STEPS)], rank=0)
        write(folder, ".".join(tag), settings, start(), own, rated, end(code))
    return report_of([folder])


def said(made: Report) -> list[tuple[str, str, str]]:
    found = [each for each in made.findings if each.name in NAMES]
    return [(each.name, each.severity, each.sentence) for each in found]


def notes(made: Report) -> set[tuple[str, ...]]:
    return {table(made.rows).notes for table in (steps, slowest_ranks, every_rank)}


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_whole_job_lacks_nothing(tmp_path: Path, nodes: int) -> None:
    made = report(tmp_path, *map(rank_lines, range(RANKS)), nodes=nodes)
    assert said(made) == []
    assert notes(made) == {()}


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("odd", [0, RANKS - 1])
def test_a_rank_that_never_spoke_is_an_error(tmp_path: Path, odd: int, nodes: int) -> None:
    lines = ["" if rank == odd else rank_lines(rank) for rank in range(RANKS)]
    made = report(tmp_path, *lines, nodes=nodes)
    assert said(made) == [("silent_rank", "error", f"b.0: rank {odd} of 4 told nothing")]
    assert notes(made) == {("(of a part of the ranks: b 3 of 4)",)}
    assert ledger(made.rows).notes == ("(of a part of the ranks: b 3 of 4)",)


@pytest.mark.parametrize("odd", [0, RANKS - 1])
def test_a_rank_without_its_steps_is_a_warning(tmp_path: Path, odd: int) -> None:
    lines = [rank_lines(rank, count=STEPS * (rank != odd)) for rank in range(RANKS)]
    made = report(tmp_path, *lines)
    assert said(made) == [("missing_steps", "warning", f"b.0: rank {odd} of 4 told no steps")]
    assert notes(made) == {("(of a part of the ranks: b 3 of 4)",)}


@pytest.mark.parametrize("odd", [0, RANKS - 1])
def test_steps_that_are_missing_are_counted(tmp_path: Path, odd: int) -> None:
    lines = [rank_lines(rank, count=STEPS - 5 * (rank == odd)) for rank in range(RANKS)]
    assert said(report(tmp_path, *lines)) == [
        ("missing_steps", "warning", f"b.0: rank {odd} told only 15 of 20 steps")
    ]


def test_several_ranks_are_one_sentence(tmp_path: Path) -> None:
    lines = [rank_lines(rank, count=20 - rank) for rank in range(3)]
    assert said(report(tmp_path, *lines, "", "", "")) == [
        ("silent_rank", "error", "b.0: rank 3, rank 4, rank 5 of 6 told nothing"),
        ("missing_steps", "warning", "b.0: rank 1, rank 2 told only 19, 18 of 20 steps"),
    ]


def test_programs_that_tell_little_lack_nothing(tmp_path: Path) -> None:
    """Rank 0 may tell for all; so do programs that are not ours."""
    device_alone = [rank_lines(rank, count=0) for rank in range(RANKS)]
    assert said(report(tmp_path / "none", *[""] * RANKS)) == []
    assert said(report(tmp_path / "first", rank_lines(0, device=False), "", "", "")) == []
    assert said(report(tmp_path / "devices", *device_alone)) == []


def test_a_job_that_failed_lacks_the_ranks_that_never_spoke_alone(tmp_path: Path) -> None:
    lines = [rank_lines(0, count=12), rank_lines(1, count=11), rank_lines(2, count=0), ""]
    made = report(tmp_path, *lines, code=1)
    assert said(made) == [("silent_rank", "error", "b.0: rank 3 of 4 told nothing")]


@pytest.mark.parametrize("missing", [0, 2])
def test_a_job_that_left_no_file_is_an_error(tmp_path: Path, missing: int) -> None:
    plan = {"method": "njobs", "n": 3}
    for repeat in ("R0", "R1"):
        for number in range(3):
            if (repeat, number) == ("R1", missing):
                continue
            tag = ["b", repeat, str(number)]
            settings = job("b", 2, plan=plan, tag=tag)
            values = rates([1.0] * 9, rank=0)
            write(tmp_path, ".".join(tag), settings, start(), values, end())
    found = [each for each in report_of([tmp_path]).findings if each.name == "missing_job"]
    assert [(each.sentence, each.layer) for each in found] == [
        ("b: only 2 of 3 jobs of R1 left a file", "planning")
    ]


EACH = {"method": "njobs", "n": 1, "each": "node"}


def test_jobs_of_each_node_are_apart(tmp_path: Path) -> None:
    """As many ranks 0 as nodes, each with a rate of its own; one job left no file."""
    for node in range(2):
        tag = ["b", "0", f"n{node}"]
        settings = job("b", 2, 3, tag=tag, plan=EACH)
        own = "".join(rank_lines(rank) for rank in range(2 - node))  # the last one is silent
        rated = rates([100.0 + 100 * node] * STEPS, rank=0)
        write(tmp_path, ".".join(tag), settings, start(), own, rated, end(0))
    made = report_of([tmp_path])
    (row,) = made.rows
    assert (row.ngpu, row.perf, row.score) == (2, 150.0, 300.0)
    assert [rank.id.label for rank in row.ranks] == [
        "rank 0 (n0)",
        "rank 0 (n1)",
        "rank 1 (n0)",
    ]
    missing = {found.name: found.evidence for found in made.findings}
    assert missing["missing_job"] == {"jobs": 2, "planned": 3}
    assert "silent_rank" not in missing  # a single rank may have told what all would say
