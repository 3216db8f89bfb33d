"""The tables of settings and of bounds."""

from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.settings_tables import bounds, settings
from tests.support.runs_with_settings import settings_of_node, transfer, write_nodes, write_process
from tests.support.settings_tree import SPOILT


def test_settings_by_value(tmp_path: Path) -> None:
    good = settings_of_node(tmp_path / "good")
    spoil = [SPOILT[name][0] for name in ("governor", "rdma_ports", "mtu")]
    bad = settings_of_node(tmp_path / "bad", *spoil)
    del bad["tuned"]
    run = tmp_path / "run"
    write_nodes(run, {"n1": good, "n2": good, "n3": good, "n4": bad}, "t")
    write_process(run, "t", "n1", transfer(55.0), nodes=4)
    table = settings(report_of([run]).rows)
    found = {(row[0], row[4]): (row[1], row[3]) for row in table.rows}
    assert found["governor", "n[1-3]"] == ("8 x performance", "ok")
    assert found["governor", "n4"] == ("7 x performance and 1 x powersave (policy7)", "bad")
    assert found["rdma_ports", "n4"] == ("7 x ACTIVE and 1 x DOWN (mlx5_7/1)", "broken")
    assert found["mtu", "n4"] == ("1500", "differs")
    assert found["tuned", "n4"] == ("", "cannot tell")
    assert found["thp", "n[1-4]"] == ("madvise", "ok")
    (row,) = [row for row in table.rows if row[0] == "nofile"]
    assert row[2] == r"\d{4,}"


def test_without_settings_there_is_no_table(tmp_path: Path) -> None:
    write_process(tmp_path, "t", "", transfer(55.4), tags=[])
    rows = report_of([tmp_path]).rows
    assert not settings(rows)
    (row,) = bounds(rows).rows
    assert row[:2] == ("t", "h2d pinned")
    assert row[2:4] == ("GPU 0", 55.4)
    assert row[6] == "PCIe 5 x16"


def test_the_node_is_told_in_the_table_of_bounds(tmp_path: Path) -> None:
    write_process(tmp_path, "t", "n1", transfer(55.4), nodes=2)
    (row,) = bounds(report_of([tmp_path]).rows).rows
    assert row[2] == "n1, GPU 0"
