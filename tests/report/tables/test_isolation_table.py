"""The table of probes."""

from pathlib import Path

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.isolation_table import isolation
from milabench_ddp.results.isolation import IsolationRecord, ProbeRecord
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import end, job, rates, start, write, write_state

NODES = ("n0", "n1", "n2", "n3")


def test_each_probe_has_a_row(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b", nodes=4), start(), rates([1.0] * 9), end(1))
    write_state(tmp_path, "failed", {"b": "failed"})
    probes = [
        ProbeRecord("b/probe0", 1, ("n0", "n1"), (), Outcome.OK, "", 12.5, False),
        ProbeRecord("b/probe1", 1, ("n2", "n3"), (), Outcome.FAILED, "it broke", None, True),
        ProbeRecord("b/probe2", 2, ("n0", "n3"), ("n0",), Outcome.LOST, "gone", None, None),
    ]
    record = IsolationRecord(NODES, whole_fails=True, probes=probes)
    write_record(RunDir(tmp_path).isolation_json("b"), record)
    rows = report_of([tmp_path]).rows
    assert isolation.has_rows(rows)
    assert isolation(rows).rows == (
        ("b", 1, "n[0-1]", "", "ok", 12.5, "good", ""),
        ("b", 1, "n[2-3]", "", "failed", None, "bad", "it broke"),
        ("b", 2, "n[0,3]", "n0", "lost", None, "", "gone"),
    )


def test_without_an_isolation_there_is_none(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b", nodes=4), start(), rates([1.0] * 9), end(0))
    write_state(tmp_path, "ok", {"b": "ok"})
    assert not isolation.has_rows(report_of([tmp_path]).rows)
