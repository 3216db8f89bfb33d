"""The tables of a made-up run, as a user reads them."""

import json
from contextlib import chdir
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.model import Report, Row
from milabench_ddp.report.tables import TABLES
from milabench_ddp.table import Table, csv_text
from tests.golden import check_golden
from tests.support.reported_runs import write_tables


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Report:
    with chdir(tmp_path_factory.mktemp("made")):
        run = Path("runs/monday")
        write_tables(run)
        return report_of([run])


@pytest.mark.parametrize("name", TABLES)
def test_golden_csv(made: Report, name: str) -> None:
    check_golden(f"report/tables_{name}.csv", csv_text(TABLES[name](made.rows)))


def test_every_rank_is_in_the_json(made: Report) -> None:
    rows = {row["name"]: row for row in json.loads(report_json(made))["benchmarks"]}
    ranks = rows["bert-ddp"]["ranks"]
    assert [of["rank"] for of in ranks] == list(range(16))
    assert (ranks[11]["node"], ranks[11]["own_ms"]) == ("node 1", 49.0)
    assert ranks[11]["part_ms"]["forward"] == [44.0, 0.0]
    assert rows["bert-ddp"]["mfu"] == pytest.approx(280.0 / rows["flops-peak-bf16"]["perf"])
    assert rows["bert-ddp"]["peak"]["benchmark"] == "flops-peak-bf16"
    assert [of["bytes"] for of in rows["comm"]["tables"]["comm"]] == [2**10, 2**20, 2**30]
    assert len(rows["flops-peak-bf16"]["tables"]["sweep"]) == 12


def test_nothing_is_made_of_nothing() -> None:
    rows = [Row("a", 0, 1, 1, 1.0, 0.1, 0.1, 1.0, 1.0, 1.0)]
    made: list[Table] = [make(rows) for make in TABLES.values()]
    assert not any(made)
