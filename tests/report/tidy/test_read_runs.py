"""Runs are read one by one, and never pooled."""

from pathlib import Path

from milabench_ddp.report.tidy.read_runs import read_runs
from tests.support.result_files import config, end, rates, start, write


def test_runs_that_differ_are_each_reported_on_alone(tmp_path: Path) -> None:
    for name, speed in (("a", 10.0), ("b", 20.0)):
        of = config("x", argv={"--speed": speed})
        write(tmp_path / name, "x.D0", of, start(), rates([speed] * 5), end())
    found = list(read_runs([tmp_path]))
    assert [run.folder for run in found] == [str(tmp_path / name) for name in "ab"]
    assert [run.document.benchmarks[0].perf for run in found] == [10.0, 20.0]
