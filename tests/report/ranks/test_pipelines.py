"""Pipelines: who does the same work, the bubble of each stage, the rank that all wait for."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from milabench_ddp.report.model import Report
from milabench_ddp.report.ranks.ledger import launch_times
from milabench_ddp.report.ranks.pipelines import Pipelines, pipelines_of
from milabench_ddp.report.tables.ledger_table import ledger
from milabench_ddp.report.tables.rank_tables import stragglers as slowest_ranks
from milabench_ddp.results.records import Record
from tests.support.pipelined_ranks import PipelineJob, pipelined
from tests.support.result_files import end, job, start, steps, told, write


def report(job: PipelineJob, folder: Path) -> Report:
    job.write(folder)
    return report_of([folder])


def named(found: Report, name: str) -> list[Finding]:
    return [each for each in found.findings if each.name == name]


def not_compared(found: Report) -> list[str]:
    """Why ranks could not be named as slow."""
    (check,) = (each for each in found.checks if each.finding == "slow_rank")
    return list(check.not_compared)


def items(found: Report) -> dict[str, dict[str, Any]]:
    table = ledger(found.rows)
    names = [column.name for column in table.columns]
    return {row[1]: dict(zip(names, row, strict=True)) for row in table.rows}


@pytest.mark.parametrize(("stages", "microbatches"), [(2, 4), (4, 8), (4, 32)])
def test_the_bubble_of_equal_stages_is_that_of_gpipe(
    tmp_path: Path, stages: int, microbatches: int
) -> None:
    job = pipelined(1, stages, microbatches, noise=0.0)
    rows = items(report(job, tmp_path))
    assert list(rows) == ["all", *(f"rank {rank}" for rank in range(stages))]
    for rank in range(stages):
        row = rows[f"rank {rank}"]
        own, bubble = row["forward+backward"], row["bubble"]
        ideal = (stages - 1) / (microbatches + stages - 1)
        assert bubble / (own + bubble) == pytest.approx(ideal, abs=1e-4)
        assert row["stages"] == str(rank)
        assert row["waiting"] == pytest.approx(0.0, abs=1e-4)
        whole = own + bubble + row["optimizer"] + row["jitter"]
        assert row["ms"] == pytest.approx(whole)


@pytest.mark.parametrize("slow", [0, 5])
def test_a_rank_is_compared_with_those_of_its_stage(tmp_path: Path, slow: int) -> None:
    uneven = {0: 80.0, 1: 120.0, 2: 60.0}
    job = pipelined(2, 3, own=uneven, slow={slow: 1.15})
    found = report(job, tmp_path)
    (finding,) = named(found, "slow_rank")
    assert finding.place == f"rank {slow}"
    assert f"slower than rank {(slow + 3) % 6} in its own work" in finding.sentence
    (row,) = slowest_ranks(found.rows).rows
    assert f"rank {slow}" in row
    assert not_compared(found) == []
    clean = report(pipelined(2, 3, own=uneven, seed=2), tmp_path / "clean")
    assert named(clean, "slow_rank") == []
    assert "none" in slowest_ranks(clean.rows).rows[0]


def test_of_more_pipelines_it_is_the_median_of_its_stage(tmp_path: Path) -> None:
    found = report(pipelined(4, 2, own={1: 100.0}, slow={6: 1.1}), tmp_path)
    (finding,) = named(found, "slow_rank")
    assert "rank 6 is" in finding.sentence
    assert "the median of the others with its stages" in finding.sentence


@pytest.mark.parametrize(("stage", "factor"), [(0, 1.16), (1, 1.40), (1, 2.03)])
@pytest.mark.parametrize("own", [{}, {1: 120.0}])
def test_what_the_job_would_take_without_it(
    stage: int, factor: float, own: dict[int, float], tmp_path: Path
) -> None:
    slow, clean = pipelined(2, 2, own=own, slow={2 + stage: factor}), pipelined(2, 2, own=own)
    found = report(slow, tmp_path)
    (finding,) = named(found, "slow_rank")
    expected = slow.step.mean() / clean.step.mean() - 1
    assert finding.evidence["faster"] == pytest.approx(expected, abs=0.01)
    for row in items(found).values():
        assert sum(v for k, v in row.items() if k not in ("benchmark", "rank", "stages", "ms")) == (
            pytest.approx(row["ms"])
        )


def test_of_a_single_pipeline_the_bottleneck_is_named_and_nobody_is_slow(tmp_path: Path) -> None:
    found = report(pipelined(1, 3, own={1: 110.0}), tmp_path)
    (finding,) = named(found, "uneven_stages")
    assert finding.place == "stage 1"
    clean, even = pipelined(1, 3, own={1: 110.0}), pipelined(1, 3, own=dict.fromkeys(range(3), 90))
    faster = clean.step.mean() / even.step.mean() - 1
    assert finding.evidence["faster"] == pytest.approx(faster, abs=0.01)
    assert named(found, "slow_rank") == []
    assert "none" not in slowest_ranks(found.rows).rows[0]
    assert not_compared(found) == ["each rank has other stages of the model"]
    assert named(report(pipelined(1, 3), tmp_path / "even"), "uneven_stages") == []


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"stages": [[0], [1]]},
        {"stages": [], "chunks": 4},
        {"stages": [[0], []], "chunks": 4},
        {"stages": "01", "chunks": 4},
        {"stages": [[0], [1]], "chunks": 0},
    ],
)
def test_what_a_program_did_not_tell_is_no_pipeline(model: dict[str, Any]) -> None:
    assert pipelines_of(Record(Path("b.data"), facts={"model": model})) == Pipelines()


def test_waits_inside_graphs_are_told(tmp_path: Path) -> None:
    model = told(model={"mode": "tp", "waits_unknown": "compiled blocks wait inside their graphs"})
    lines = [steps(rank, [10.0] * 20, parts={"forward": [10.0] * 20}) for rank in range(2)]
    write(tmp_path, "b.0", job("b", 2), start(), model, *lines, end())
    assert not_compared(report_of([tmp_path])) == ["compiled blocks wait inside their graphs"]


def test_without_a_rank_nothing_is_known(tmp_path: Path) -> None:
    found = report(pipelined(2, 2), tmp_path)
    record = found.rows[0].processes[0].record
    assert launch_times(record, lambda _: 0) is not None
    del record.ranks[1]
    assert launch_times(record, lambda _: 0) is None
