from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.mfu import precision
from milabench_ddp.report.model import Report
from milabench_ddp.results.records import Record
from tests.support.result_files import config, end, job, rates, start, told, write

OK = end(0, outcome="ok", reason="")


def of_peak(report: Report, name: str) -> Any:
    return next((row.peak, row.mfu) for row in report.rows if row.name == name)


def test_utilisation_is_of_the_same_precision_and_run(tmp_path: Path) -> None:
    for run, peak in (("one", 100.0), ("two", 50.0)):
        values = rates([peak] * 9, units="TFLOP/s")
        for name, dtype in (("f1", "fp32"), ("f2", "fp32"), ("f3", "bf16")):
            faster = values if name != "f1" else rates([1.0] * 9, units="TFLOP/s")
            settings = config(name, device=0, argv=["--dtype", dtype])
            write(tmp_path / run, f"{name}.D0", settings, start(), faster, OK)
        for name, argv in (("train", {}), ("half", {"--precision": "fp16"})):
            done = told(model={"tflops_per_gpu": 25.0})
            trained = job(name, argv=argv)
            write(tmp_path / run, f"{name}.0", trained, start(), rates([1.0] * 9), done, OK)
    only, both = report_of([tmp_path / "one"]), report_of([tmp_path / "one", tmp_path / "two"])
    peak, mfu = of_peak(only, "train")
    assert (peak.benchmark, peak.precision, mfu) == ("f2", "fp32", 0.25)
    assert of_peak(both, "train")[1] == (0.25 + 0.5) / 2
    assert of_peak(only, "half")[0] is None
    assert "MFU in fp32 is relative to the 100 TFLOP/s that f2 measured" in only.notes


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        ({}, "fp32"),
        ({"--precision": "bf16"}, "bf16"),
        ({"--dtype": "amp"}, "bf16"),
        (["--steps", "3", "--precision", "amp-fp16"], "fp16"),
        (["--precision"], "fp32"),
        ("odd", "fp32"),
    ],
)
def test_precision(argv: Any, found: str) -> None:
    assert precision(Record(Path("b.data"), {"argv": argv})) == found
