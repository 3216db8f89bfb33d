"""The published figure that is nearest to one of ours."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.nearest_row import apart, nearest, told_of
from milabench_ddp.results.records import Payload
from tests.support.result_files import config, end, line, rates, start, write


def product(folder: Path, dtype: str, name: str = "NVIDIA H100 80GB HBM3") -> Payload:
    meta = line("meta", {"accelerators": {"arch": "cuda", "gpus": {"0": {"product": name}}}})
    settings = config("b", device=0, argv={"--dtype": dtype})
    write(folder, "b.D0", settings, meta, start(), rates([700.0] * 70, units="TFLOP/s"), end())
    (row,) = report_of([folder]).rows
    return told_of(row)


def test_matrix_products_of_a_type_and_a_device_have_a_row_of_theirs(tmp_path: Path) -> None:
    ours = product(tmp_path, "bf16")
    assert (ours["device"], ours["value"]) == ("H100 SXM", 700)
    theirs = nearest(ours)
    assert not isinstance(theirs, str)
    assert (theirs["model"], theirs["device"], theirs["precision"], theirs["value"]) == (
        "matrix product", "H100 SXM", "bf16", 794.5,
    )  # fmt: skip
    assert not any(apart(ours, theirs, name) for name in ("device", "gpus", "precision"))


@pytest.mark.parametrize(
    ("dtype", "name", "said"),
    [
        ("int3", "NVIDIA H100 80GB HBM3", "precision"),
        ("bf16", "Somebody's Accelerator", "family"),
    ],
)
def test_of_other_work_it_says_what_no_row_has(
    tmp_path: Path, dtype: str, name: str, said: str
) -> None:
    theirs = nearest(product(tmp_path, dtype, name))
    assert isinstance(theirs, str)
    assert theirs.startswith(f"none has {said} ")


def test_numbers_are_apart_by_their_ratio() -> None:
    assert apart({"size": 2048}, {"size": 4096}, "size") == pytest.approx(0.693, abs=0.001)
    assert apart({"size": None}, {"size": 4096}, "size") == 0
    assert apart({"device": "A"}, {"device": "B"}, "device") == 1
