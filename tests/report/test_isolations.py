"""The isolations of a benchmark in the runs of a report."""

from pathlib import Path

from milabench_ddp.codec import write_record
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.isolations import isolations
from milabench_ddp.results.isolation import IsolationRecord
from milabench_ddp.results.run_dir import RunDir
from tests.support.result_files import end, job, rates, start, write, write_state


def test_each_run_of_a_benchmark_may_have_one(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "none")]
    for count, folder in enumerate(folders, 2):
        for name in ("a", "b"):
            write(folder, f"{name}.0", job(name, nodes=5), start(), rates([1.0] * 9), end(1))
        write_state(folder, "failed", {"a": "failed", "b": "failed"})
        if folder.name != "none":
            nodes = tuple(f"n{number}" for number in range(count))
            write_record(RunDir(folder).isolation_json("b"), IsolationRecord(nodes, True))
    rows = {row.name: row for row in report_of(folders, pool=True).rows}
    assert [len(each.nodes) for each in isolations(rows["b"])] == [2, 3]
    assert list(isolations(rows["a"])) == []
