import json
import math
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import report_json, sweep_csv
from milabench_ddp.report.mfu import precision
from milabench_ddp.report.model import Report, Row
from milabench_ddp.report.sweep import sweep_of
from milabench_ddp.report.text import report_text
from milabench_ddp.results.records import Record
from tests.support.result_files import config, end, job, rates, start, told, write

OK = end(0, outcome="ok", reason="")


def of_peak(report: Report, name: str) -> Any:
    return next((row.used.peak, row.used.mfu) for row in report.rows if row.name == name)


def test_utilisation_is_of_the_same_precision_and_run(tmp_path: Path) -> None:
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
    peak, mfu = of_peak(only, "train")
    assert (peak.benchmark, peak.precision, mfu) == ("f2", "fp32", 0.25)
    assert of_peak(both, "train")[1] == (0.25 + 0.5) / 2
    assert of_peak(both, "train")[0].tflop_s == pytest.approx(25.0 / of_peak(both, "train")[1])
    assert of_peak(only, "half")[0] is None
    assert of_peak(only, "none")[0] is None
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


def planted(folder: Path, *speeds: float, dtype: str = "bf16", peak: float = 100.0) -> Report:
    """A program that claims so many TFLOP/s on each device, and a peak for its type."""
    products = config("flops", device=0, tag=["flops", "D0"], argv=[f"--dtype={dtype}"])
    write(folder, "flops.D0", products, start(), rates([peak] * 9, units="TFLOP/s"), OK)
    for device, speed in enumerate(speeds):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        facts = told(model={"tflops_per_gpu": speed}), told(compute_dtype=dtype)
        write(folder, f"b.D{device}", settings, start(), rates([1.0] * 9), *facts, OK)
    return report_of([folder])


def test_the_row_agrees_with_itself(tmp_path: Path) -> None:
    """Eight devices claim 1 to 8 TFLOP/s: the mean is 4.5, and 4.5 % of the peak."""
    made = planted(tmp_path, *map(float, range(1, 9)))
    (row,) = (row for row in made.rows if row.name == "b")
    assert (row.tflops, row.used.mfu) == (4.5, pytest.approx(0.045))
    text = report_text(made)
    assert "4.5 ±2.3 | 4.5%" in text
    assert "relative to the 100 TFLOP/s that flops measured" in text
    assert json.loads(report_json(made))["benchmarks"][0]["facts"]["model"] == {
        "tflops_per_gpu": 4.5
    }


@pytest.mark.parametrize("speeds", [(599.0,), (40.0, 599.0), (599.0, 40.0)])
def test_more_than_the_peak_is_an_error_and_no_number(
    tmp_path: Path, speeds: tuple[float, ...]
) -> None:
    made = planted(tmp_path, *speeds)
    (row,) = (row for row in made.rows if row.name == "b")
    assert math.isnan(row.used.mfu)
    assert made.warnings == [
        "b: no MFU: it claims 599 TFLOP/s on a device, and flops reached only 100 TFLOP/s in bf16: "
        "one of the two is wrong"
    ]
    assert not any(note.startswith("MFU") for note in made.notes)
    assert "MFU |" not in report_text(made)
    assert json.loads(report_json(made))["benchmarks"][0]["mfu"] is None
    cells = sweep_csv(sweep_of(made, "mfu")).splitlines()
    assert cells == ["name,mfu", "b,-", "flops,-"]


def only(made: Report, name: str = "b") -> Row:
    (row,) = (row for row in made.rows if row.name == name)
    return row


@pytest.mark.parametrize("first", ["bf16", "fp32"])
def test_processes_of_two_precisions(tmp_path: Path, first: str) -> None:
    """300 of 700 TFLOP/s in bf16 and 25 of 50 in fp32 are 46.4 %, in either order."""
    speeds = {"bf16": (300.0, 700.0), "fp32": (25.0, 50.0)}
    for device, dtype in enumerate(sorted(speeds, key=lambda dtype: dtype != first)):
        speed, peak = speeds[dtype]
        settings = config(f"flops-{dtype}", device=0, argv={"--dtype": dtype})
        products = rates([peak] * 9, units="TFLOP/s")
        write(tmp_path, f"flops-{dtype}.D0", settings, start(), products, OK)
        settings = config("b", device=device, tag=["b", f"D{device}"])
        facts = told(tflops_per_gpu=speed, compute_dtype=dtype)
        write(tmp_path, f"b.D{device}", settings, start(), rates([1.0] * 9), facts, OK)
    made = report_of([tmp_path])
    row = only(made)
    assert row.used.mfu == pytest.approx((300 / 700 + 25 / 50) / 2)
    assert row.used.peak is not None
    assert row.tflops / row.used.peak.tflop_s == pytest.approx(row.used.mfu)
    assert [note for note in made.notes if note.startswith("MFU")] == [
        "MFU in bf16 is relative to the 700 TFLOP/s that flops-bf16 measured",
        "MFU in fp32 is relative to the 50 TFLOP/s that flops-fp32 measured",
    ]


@pytest.mark.parametrize("silent", [0, 3])
def test_numbers_of_a_part_of_the_processes(tmp_path: Path, silent: int) -> None:
    planted(tmp_path / "type", 50.0, 50.0, 50.0, 50.0)
    planted(tmp_path / "speed", 50.0, 50.0, 50.0, 50.0)
    for folder, facts in (("type", told(tflops_per_gpu=50.0)), ("speed", "")):
        settings = config("b", device=silent, tag=["b", f"D{silent}"])
        tag = f"b.D{silent}"
        write(tmp_path / folder, tag, settings, start(), rates([1.0] * 9), facts, OK)
    untyped, unsped = (report_of([tmp_path / folder]) for folder in ("type", "speed"))
    assert math.isnan(only(untyped).used.mfu)
    assert untyped.warnings == ["b: no MFU: no peak is known for the precision of 1 of 4 processes"]
    assert only(unsped).used.mfu == 0.5
    assert unsped.warnings == ["b: only 3 of 4 processes tell their TFLOP/s"]


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


def test_a_claim_that_is_not_positive(tmp_path: Path) -> None:
    made = planted(tmp_path, 50.0, -5.0)
    assert math.isnan(only(made).used.mfu)
    assert made.warnings == ["b: no MFU: it claims -5 TFLOP/s on a device"]


def test_both_figures_have_the_digits_that_tell_them_apart(tmp_path: Path) -> None:
    (warning,) = planted(tmp_path, 100.001).warnings
    assert "claims 100.001 TFLOP/s on a device, and flops reached only 100 TFLOP/s" in warning


@pytest.mark.parametrize(("ratio", "hfu"), [(1.25, "87.5%"), (1.5, None)])
def test_recomputation_does_not_exceed_the_peak(
    tmp_path: Path, ratio: float, hfu: str | None
) -> None:
    planted(tmp_path, 70.0)
    settings = config("b", device=0, tag=["b", "D0"])
    facts = told(tflops_per_gpu=70.0, hardware_flops_ratio=ratio, compute_dtype="bf16")
    write(tmp_path, "b.D0", settings, start(), rates([1.0] * 9), facts, OK)
    made = report_of([tmp_path])
    text = report_text(made)
    if hfu is not None:
        assert hfu in text
        assert made.warnings == []
        return
    assert "HFU |" not in text
    assert made.warnings == [
        "b: no HFU: with its recomputation it claims 105.0% of the 100 TFLOP/s that flops reached "
        "in bf16: one of the two is wrong"
    ]


def test_the_peak_itself_is_reached(tmp_path: Path) -> None:
    made = planted(tmp_path, 100.0)
    assert [row.used.mfu for row in made.rows if row.name == "b"] == [1.0]
    assert made.warnings == []
