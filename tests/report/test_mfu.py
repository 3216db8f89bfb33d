import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.mfu import precision
from milabench_ddp.report.model import Report
from milabench_ddp.report.tables.step_tables import of_peak, steps
from milabench_ddp.report.told import TFLOPS
from milabench_ddp.results.records import Record
from tests.support.claimed_flops import OK, only, planted
from tests.support.formats import table_text
from tests.support.result_files import config, end, job, line, rates, start, told, write


def the_peak(report: Report, name: str) -> Any:
    return next((row.used.peak, row.used.mfu) for row in report.rows if row.name == name)


def test_utilisation_is_of_the_same_precision_and_runs(tmp_path: Path) -> None:
    for run, peak in (("one", 100.0), ("two", 50.0)):
        values = rates([peak] * 9, units="TFLOP/s")
        for name, dtype in (("f1", "fp32"), ("f2", "fp32"), ("f3", "bf16")):
            faster = values if name != "f1" else rates([1.0] * 9, units="TFLOP/s")
            settings = config(name, device=0, argv=["--dtype", dtype])
            write(tmp_path / run, f"{name}.D0", settings, start(), faster, OK)
        for name, argv in (
            ("train", {"--dtype": "fp32"}),
            ("none", {}),
            ("half", {"--precision": "fp16"}),
        ):
            done = told(model={"tflops_per_gpu": 25.0})
            trained = job(name, argv=argv)
            write(tmp_path / run, f"{name}.0", trained, start(), rates([1.0] * 9), done, OK)
    only, both = report_of([tmp_path / "one"]), report_of([tmp_path / "one", tmp_path / "two"])
    peak, mfu = the_peak(only, "train")
    assert (peak.benchmark, peak.precision, mfu) == ("f2", "fp32", 0.25)
    peak, mfu = the_peak(both, "train")  # of pooled runs, that of both
    assert (peak.tflop_s, mfu) == (75.0, pytest.approx(1 / 3))
    assert the_peak(only, "half")[0] is None
    assert the_peak(only, "none")[0] is None
    assert "MFU in fp32 is relative to the 100 TFLOP/s that f2 measured" in only.notes


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        ({}, ""),
        ({"--precision": "bf16"}, "bf16"),
        ({"--dtype": "amp"}, "bf16"),
        (["--steps", "3", "--precision", "amp-fp16"], "fp16"),
        (["--precision=bf16"], "bf16"),
        ({"--precision=bf16": None}, "bf16"),
        (["--dtype", "fp32", "--dtype=amp"], "bf16"),
        ({"--precision": "fp32", "--mixed-precision": "bf16"}, "bf16"),
        ({"--precision": "tf32", "--mixed-precision": "none"}, "tf32"),
        (["--precision"], ""),
        ("odd", ""),
    ],
)
def test_precision_by_the_options(argv: Any, found: str) -> None:
    assert precision(Record(Path("b.data"), {"argv": argv})) == found


def test_what_the_program_told_comes_before_its_options() -> None:
    record = Record(Path("b.data"), {"argv": {"--precision": "fp32"}}, compute_dtype="bfloat16")
    assert precision(record) == "bf16"


def test_the_row_agrees_with_itself(tmp_path: Path) -> None:
    """Eight devices claim 1 to 8 TFLOP/s: the mean is 4.5, and 4.5 % of the peak."""
    made = planted(tmp_path, *map(float, range(1, 9)))
    (row,) = (row for row in made.rows if row.name == "b")
    assert (row.told[TFLOPS].mean, row.used.mfu) == (4.5, pytest.approx(0.045))
    assert "4.5 ±2.3 | 4.5%" in table_text(steps(made.rows))
    assert "relative to the 100 TFLOP/s that flops measured" in report_text(made)
    assert json.loads(report_json(made))["benchmarks"][0]["facts"]["model"] == {
        "tflops_per_gpu": 4.5
    }


@pytest.mark.parametrize(
    ("products", "dtype", "share"),
    [
        (["NVIDIA H100 80GB HBM3"] * 2, "bf16", 0.75 * 395.6 / 989),
        # the A100 claims more than its own
        (["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"], "bf16", math.nan),
        (["NVIDIA H100 80GB HBM3"] * 2, "fp8", 0.75 * 395.6 / 1979),
        (["NVIDIA H100 NVL"] * 2, "fp32", math.nan),
        (["NVIDIA H100 80GB HBM3 MIG 1g.10gb"] * 2, "bf16", math.nan),
    ],
)  # fmt: skip
def test_the_share_of_the_data_sheet(
    tmp_path: Path, products: list[str], dtype: str, share: float
) -> None:
    """Without a measured peak, too; of devices that claim 197.8 and 395.6 TFLOP/s."""
    for device, (product, speed) in enumerate(zip(products, (197.8, 395.6), strict=True)):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        gpus = {"gpus": {str(device): {"product": product}}}
        facts = told(tflops_per_gpu=speed, compute_dtype=dtype)
        parts = line("meta", {"accelerators": gpus}), start(), rates([1.0] * 9), facts, OK
        write(tmp_path, f"b.D{device}", settings, *parts)
    made = report_of([tmp_path])
    found = json.loads(report_json(made))["benchmarks"][0]["mfu_of_data_sheet"]
    assert found == (None if math.isnan(share) else pytest.approx(share))
    assert ("of data sheet" in table_text(steps(made.rows))) == (found is not None)


def noisy(level: float, seed: int, deviation: float = 0.05) -> str:
    draw = np.random.default_rng(seed)
    return rates((level * (1 + deviation * draw.normal(size=100))).tolist(), units="TFLOP/s")


def test_the_interval_has_that_of_the_peak(tmp_path: Path) -> None:
    products = config("flops", device=0, argv=["--dtype=bf16"])
    write(tmp_path, "flops.D0", products, start(), noisy(100.0, 0), OK)
    for name, seed in (("b", 1), ("c", 2)):
        trained = config(name, device=0, argv=["--dtype=bf16"])
        claimed = told(tflops_per_gpu=45.0)
        values = noisy(7.0, seed) if name == "b" else rates([7.0] * 9)
        write(tmp_path, f"{name}.D0", trained, start(), values, claimed, OK)
    made = report_of([tmp_path])
    flops, row, short = (only(made, name) for name in ("flops", "b", "c"))
    assert row.used.peak is not None
    assert row.used.peak.error == pytest.approx(flops.half_width * flops.perf)
    expected = row.used.mfu * math.hypot(row.half_width, flops.half_width)
    assert json.loads(report_json(made))["benchmarks"][0]["mfu_error"] == pytest.approx(expected)
    assert of_peak(row, row.used.mfu).error == pytest.approx(expected)
    assert re.search(r"b .*[|] 4\d(.\d)? ±\d(.\d)?%", report_text(made))
    assert re.search(r"relative to the \d+.* ±\d.* TFLOP/s that flops", report_text(made))
    # of nine observations there is no interval: what is known is that of the peak
    assert of_peak(short, short.used.mfu).error == pytest.approx(short.used.mfu * flops.half_width)


def test_processes_of_two_precisions_have_no_mfu(tmp_path: Path) -> None:
    for device, (dtype, peak) in enumerate({"bf16": 700.0, "fp32": 50.0}.items()):
        settings = config(f"flops-{dtype}", device=0, argv={"--dtype": dtype})
        products = rates([peak] * 9, units="TFLOP/s")
        write(tmp_path, f"flops-{dtype}.D0", settings, start(), products, OK)
        settings = config("b", device=device, tag=["b", f"D{device}"])
        facts = told(tflops_per_gpu=peak / 2, compute_dtype=dtype)
        write(tmp_path, f"b.D{device}", settings, start(), rates([1.0] * 9), facts, OK)
    made = report_of([tmp_path])
    assert math.isnan(only(made).used.mfu)
    assert made.warnings == ["b: no MFU: its processes compute in several precisions: bf16, fp32"]


@pytest.mark.parametrize("failed", [(0,), (1,), (0, 1)])
def test_products_that_failed_are_no_peak(tmp_path: Path, failed: tuple[int, ...]) -> None:
    """A device that reached 10 TFLOP/s before it failed; the other reached 100."""
    planted(tmp_path, 5.0)
    for device in range(2):
        settings = config(
            "flops", device=device, tag=["flops", f"D{device}"], argv=["--dtype=bf16"]
        )
        speed, code = (10.0, 1) if device in failed else (100.0, 0)
        values = rates([speed] * 9, units="TFLOP/s")
        write(tmp_path, f"flops.D{device}", settings, start(), values, end(code))
    mfu = only(report_of([tmp_path])).used.mfu
    assert mfu == pytest.approx(math.nan if len(failed) == 2 else 0.05, nan_ok=True)
