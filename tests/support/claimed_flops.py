"""Result files of programs that claim TFLOP/s, and of one that measured the peak."""

from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report, Row
from tests.support.result_files import config, end, rates, start, told, write

OK = end(0, outcome="ok", reason="")


def planted(folder: Path, *speeds: float, dtype: str = "bf16", peak: float = 100.0) -> Report:
    """A program that claims so many TFLOP/s on each device, and a peak for its type."""
    products = config("flops", device=0, tag=["flops", "D0"], argv=[f"--dtype={dtype}"])
    write(folder, "flops.D0", products, start(), rates([peak] * 9, units="TFLOP/s"), OK)
    for device, speed in enumerate(speeds):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        facts = told(model={"tflops_per_gpu": speed}), told(compute_dtype=dtype)
        write(folder, f"b.D{device}", settings, start(), rates([1.0] * 9), *facts, OK)
    return report_of([folder])


def only(made: Report, name: str = "b") -> Row:
    (row,) = (row for row in made.rows if row.name == name)
    return row
