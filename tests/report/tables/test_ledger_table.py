"""The ledger as a table, and the finding about what a slow rank costs."""

import re
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.ledger_table import ledger
from tests.support.result_files import told
from tests.support.trained_ranks import trained


def test_a_row_for_all_ranks_and_one_for_each(tmp_path: Path) -> None:
    trained(3, noise=0.0, slow={2: {"backward": 1.25}}).write(tmp_path)
    table = ledger(report_of([tmp_path]).rows)
    assert [column.name for column in table.columns] == [
        "benchmark", "rank", "ms", "data", "forward", "backward", "optimizer", "host",
        "communication", "waiting", "jitter",
    ]  # fmt: skip
    assert [row[:2] for row in table.rows] == [
        ("b", "all"), ("b", "rank 0"), ("b", "rank 1"), ("b", "rank 2"),
    ]  # fmt: skip
    assert table.rows[0][2:] == pytest.approx(
        (110.0, 4.0, 24.0, 40 + 10 / 3, 8.0, 4.0, 20.0, 20 / 3, 0.0), abs=1e-4
    )
    assert table.rows[3][2:] == pytest.approx(
        (110.0, 4.0, 24.0, 50.0, 8.0, 4.0, 20.0, 0.0, 0.0), abs=1e-4
    )
    for row in table.rows:
        assert sum(row[3:]) == pytest.approx(row[2])


def test_a_slow_rank_is_named_with_what_it_costs(tmp_path: Path) -> None:
    trained(slow={2: {"backward": 1.25}}).write(tmp_path)
    (found,) = [each for each in report_of([tmp_path]).findings if each.name == "slow_rank"]
    assert found.place == "rank 2"
    assert found.evidence["part"] == "backward"
    assert found.evidence["faster"] == pytest.approx(110 / 100 - 1, abs=0.01)
    assert 0 < found.evidence["faster_error"] < 0.01
    assert re.search(
        r"mostly backward\): they wait for it; if it were as fast, steps would be "
        r"\d+\.\d+ ±0\.\d+% faster, if nothing else gets slower$",
        found.sentence,
    )


def test_ranks_that_are_slow_in_different_parts_cost_less_alone(tmp_path: Path) -> None:
    """Rank 1 takes 12 ms longer, and rank 6 takes 8 ms longer, of steps of 112 ms."""
    trained(8, slow={1: {"forward": 1.5}, 6: {"data": 3.0}}).write(tmp_path)
    found = [each for each in report_of([tmp_path]).findings if each.name == "slow_rank"]
    parts = {each.place: each.evidence["part"] for each in found}
    assert parts == {"rank 1": "forward", "rank 6": "data"}
    for each, alone in zip(found, (112 / 108, 1.0), strict=True):
        assert each.evidence["faster"] == pytest.approx(alone - 1, abs=0.01)


def test_a_program_that_does_not_tell_what_is_exposed_has_none(tmp_path: Path) -> None:
    job = trained()
    del job.parts["exposed_communication"]
    job.write(tmp_path)
    assert ledger(report_of([tmp_path]).rows).rows == ()


def test_what_is_hidden_stands_behind_the_step(tmp_path: Path) -> None:
    trained(2, noise=0.0).write(tmp_path, buckets(0, 3.0, 1.5), buckets(1, 2.5, 0.0))
    table = ledger(report_of([tmp_path]).rows)
    assert table.columns[-1].name == "hidden"
    assert [row[-1] for row in table.rows] == [3.5, 4.5, 2.5]
    for row in table.rows:
        assert sum(row[3:-1]) == pytest.approx(row[2])


def buckets(rank: int, *hidden: float) -> str:
    same = {"bytes": 8, "ready_ms": 1.0, "ms": 4.0}
    return told(rank, buckets=[{**same, "hidden_ms": ms} for ms in hidden])
