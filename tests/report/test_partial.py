from pathlib import Path

import pytest

from milabench_ddp.report import partial
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.partial import findings_of_benchmark, launch_series
from milabench_ddp.results.run_dir import RunDir
from tests.support.rates import falling, noisy
from tests.support.result_files import config, end, rate, rates, start, write


def test_a_launch_has_the_series_that_the_report_counts(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    for device, (value, code) in enumerate([(100.0, 0), (90.0, 0), (50.0, 1)]):
        settings = config("b", device=device, tag=["b", "R0", f"D{device}"])
        warm = rates([1.0] * 5, warmup=True)
        write(tmp_path, f"b.R0.D{device}", settings, start(), warm, rates([value] * 60), end(code))
    tags = [f"b.R0.D{device}" for device in range(3)]
    assert [series.mean for series in launch_series(run, tags)] == [100.0, 90.0]
    assert report_of([tmp_path]).rows[0].perf == 95.0
    assert launch_series(run, tags[2:]) == []
    assert launch_series(run, ["b.R9.D0"]) == []  # no file


def test_rates_in_several_units_have_no_mean(tmp_path: Path) -> None:
    for device, unit in enumerate(["images/s", "tokens/s"]):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        told = "".join(rate(1.0, units=unit) for _ in range(60))
        write(tmp_path, f"b.D{device}", settings, start(), told, end())
    assert launch_series(RunDir(tmp_path), ["b.D0", "b.D1"]) == []


def test_the_warnings_of_a_benchmark_are_those_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = RunDir(tmp_path)
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(falling(60, 1, 0.05)), end())
    write(tmp_path, "b.2.D0", config("b.2", device=0), start(), rates(noisy(60, 0.0, 1)), end())
    (found,) = findings_of_benchmark(run, "b")
    assert found in report_of([tmp_path]).findings
    assert found.name == "no_steady_state"
    assert findings_of_benchmark(run, "b.2") == []
    assert findings_of_benchmark(run, "c") == []
    monkeypatch.setattr(partial, "LARGEST", 100)  # as of what would take long to read
    assert findings_of_benchmark(run, "b") == []
