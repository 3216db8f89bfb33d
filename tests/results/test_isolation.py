"""The record of an isolation on disk."""

from pathlib import Path

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome
from milabench_ddp.plan.isolate import Condemned
from milabench_ddp.results.isolation import IsolationRecord, ProbeRecord, read_isolation
from milabench_ddp.results.read_state import ignore, read_state
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import write_state

PROBE = ProbeRecord("b/probe0", 1, ("n0", "n1"), ("n1",), Outcome.LOST, "gone", None, None)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    record = IsolationRecord(("n0", "n1"), True, [PROBE], [Condemned(("n0",), 3, 0)], 2)
    write_state(tmp_path, "failed", {"b": "failed"})
    write_record(RunDir(tmp_path).isolation_json("b"), record)
    assert read_isolation(RunDir(tmp_path), "b") == record
    state = read_state(RunDir(tmp_path), ignore)
    assert state is not None
    assert state.isolations == {"b": record}
    assert PROBE.size == 1


def test_none_and_a_damaged_one(tmp_path: Path) -> None:
    run, defects = RunDir(tmp_path), []
    assert read_isolation(run, "b", lambda path, _: defects.append(path)) is None
    assert defects == []
    run.benchmark("b").mkdir()
    run.isolation_json("b").write_text("[]")
    assert read_isolation(run, "b", lambda path, _: defects.append(path)) is None
    assert defects == [run.isolation_json("b")]
