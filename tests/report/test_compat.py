import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report import compat
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.compat import MilabenchStatistics, MilabenchSummary
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.model import Report
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    line,
    loss,
    rate,
    rates,
    sample,
    start,
    write,
)

MILABENCH = RECORDED / "milabench"
EXPECTED = json.loads((MILABENCH / "expected.json").read_text())
WEIGHTS = {"benchio": 2.0}


def report(*runs: Path, weights: dict[str, float] | None = None) -> Report:
    return report_of(runs, compat_formulas=True, weights=weights)


def close(actual: Any, expected: Any) -> None:
    """Assert that all expected fields are equal to 1e-9."""
    if isinstance(expected, dict):
        for key, value in expected.items():
            close(actual[key], value)
    else:
        assert actual == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("names", EXPECTED)
def test_milabenchs_numbers_of_its_recorded_runs(names: str) -> None:
    made = report(*(MILABENCH / name for name in names.split("+")), weights=WEIGHTS)
    data = json.loads(report_json(made))
    (benchmark,) = data["benchmarks"]
    close(benchmark["summary"], EXPECTED[names].get("benchio", {}))
    total = EXPECTED[names]["total"]
    assert f"{data['score']:.2f}" == f"{total['score']:.2f}"
    assert data["failure_rate"] == total["failure_rate"]


@pytest.mark.parametrize("names", EXPECTED)
def test_milabenchs_table_to_the_digit(names: str) -> None:
    lines = report_text(report(*(MILABENCH / name for name in names.split("+")), weights=WEIGHTS))
    header, row = (
        [cell.strip() for cell in line.split(" | ")] for line in lines.split("\n") if " | " in line
    )
    cells = dict(zip(header, row, strict=True))
    total = EXPECTED[names]["total"]
    for column, value in total["report_row"].items():
        assert cells[column] == str(value)
    assert cells["weight"] == "2.00"
    assert f"Score:{total['score']:19.2f}" in lines
    assert "Failure rate:       0.00% (PASS)" in lines


finite = st.floats(-1e12, 1e12)


@given(st.lists(finite, min_size=1, max_size=60))
def test_statistics_are_numpys(values: list[float]) -> None:
    kept = sorted(values)[1:-1] if len(values) >= 5 else values
    found = compat.statistics_of(values)
    size = max(1.0, *map(abs, values))
    quartiles = np.percentile(kept, [0, 25, 50, 75, 100])
    for name, expected in zip(("min", "q1", "median", "q3", "max"), quartiles, strict=True):
        assert getattr(found, name) == pytest.approx(expected, rel=1e-12, abs=1e-12 * size)
    assert found.mean == pytest.approx(np.mean(kept), rel=1e-12, abs=1e-12 * size)
    # NumPy rounds its sums: it may give equal numbers a deviation of 1e-16 of their value
    assert found.std == pytest.approx(np.std(kept), rel=1e-9, abs=1e-9 * size)
    assert found.sem == pytest.approx(found.std / len(kept) ** 0.5)


@pytest.mark.parametrize(
    ("values", "mean", "std"),
    [
        ([], math.nan, math.nan),
        ([None, None], math.nan, math.nan),
        ([1.0, "fast"], math.nan, math.nan),
        ([None, 5, None, 10], 7.5, 2.5),
        ([None, 1, 2, 3, 4], 2.5, math.sqrt(1.25)),  # four: nothing is dropped
        ([None, 1, 2, 3, 4, 50], 3.0, math.sqrt(2 / 3)),  # five
        ([1.0, math.nan], math.nan, math.nan),
        ([1.0, math.inf], math.inf, math.nan),
        ([-math.inf, math.inf], math.nan, math.nan),
    ],
)
def test_statistics_of_odd_lists(values: list[Any], mean: float, std: float) -> None:
    found = compat.statistics_of(values)
    assert found.mean == pytest.approx(mean, nan_ok=True)
    assert found.std == pytest.approx(std, nan_ok=True)


def one(made: Report) -> Any:
    (row,) = made.rows
    return row


def test_score_of_devices_is_their_sum_and_failures_take_their_share(tmp_path: Path) -> None:
    for device, value in enumerate((10.0, 20.0, 60.0, 30.0)):
        settings = config("b", device=device, devices=[device], tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings, start(), rates([value] * 3), end(device == 3))
    row = one(report(tmp_path))
    assert (row.n, row.fail, row.ngpu) == (4, 1, 1)
    assert row.perf == pytest.approx(29.0)  # of 12 rates a 10 and a 60 are dropped
    assert row.score == pytest.approx((10 + 20 + 60 + 30) * 0.75)


def test_ngpu_of_njobs_on_several_machines(tmp_path: Path) -> None:
    settings = config("b", plan={"method": "njobs", "n": 1}, devices=["0", "1"], num_machines=3)
    write(tmp_path, "b.0", settings, start(), rates([4.0]), end())
    row = one(report(tmp_path))
    assert (row.ngpu, row.score) == (6, 4.0)


def test_device_samples(tmp_path: Path) -> None:
    """Only the file's own device counts, while in use; of five or more the largest is dropped."""
    samples = [sample(d0=(used, 0.5), d1=(9e9, 0.5)) for used in (10.0, 20.0, 30.0, 40.0, 50.0)] + [
        sample(d0=(1.0, 0.5)),
        sample(d0=(77.0, 0.0)),
    ]
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([1.0]), *samples, end())
    row = one(report(tmp_path))
    assert row.peak_memory == 40.0
    assert row.milabench.gpu_load.keys() == {"0"}


@pytest.mark.parametrize(
    ("parts", "success"),
    [
        ((rate(1.0), end(0)), True),
        ((rate(None), end(0)), True),
        ((rate(1.0), end(1)), False),
        ((rate(1.0), end(-15)), False),
        ((rate(1.0), end("ERROR")), False),
        ((end(0),), False),
        ((rate(1.0), loss(math.nan), end(0)), False),
        ((loss(math.nan), line("stop", None), end(-9)), True),
    ],
)
def test_success(tmp_path: Path, parts: tuple[str, ...], success: bool) -> None:
    write(tmp_path, "b.D0", config("b"), start(), *parts)
    row = one(report(tmp_path))
    assert (row.n, row.fail) == (1, int(not success))


def test_a_file_of_a_node_without_a_log_is_a_success(tmp_path: Path) -> None:
    write(tmp_path, "b.1.nolog", config("b", tag=["b", "1", "nolog"]), start(), end(1))
    assert one(report(tmp_path)).fail == 0


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ((start(), rate(1.0)), "it has no `end`"),
        ((rate(1.0), end()), "it has no `start`"),
        ((start(), start(), end()), "starts again"),
        ((start(), end(), end()), "ends twice"),
        ((start(), "7\n", end()), "is not a JSON object"),
        ((start(), loss(None), end()), "a loss is not a number"),
        ((start(), line("end", {"time": 3.0})), "no return code"),
        ((line("start", {"command": []}), end()), "has no time"),
    ],
)
def test_files_that_milabench_drops(tmp_path: Path, parts: tuple[str, ...], why: str) -> None:
    write(tmp_path, "b.D0", config("b"), start(), rates([5.0]), end())
    write(tmp_path, "b.D1", config("b"), *parts)
    made = report(tmp_path)
    assert (one(made).n, one(made).perf) == (1, 5.0)
    told = [warning for warning in made.warnings if "left out, as milabench does" in warning]
    assert len(told) == 1
    assert why in told[0]


def test_a_garbled_line_is_skipped_as_milabench_does(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b"), start(), rates([5.0]), "{garbled\n", end())
    made = report(tmp_path)
    assert one(made).n == 1
    assert made.warnings == [f"{tmp_path}/b.D0.data:4: is not JSON: ignored"]


def test_weights(tmp_path: Path) -> None:
    write(tmp_path, "a", config("a", weight=3.0), start(), rates([7.0]), end())
    write(tmp_path, "b", config("b", weight=1.0, enabled=False), start(), rates([99.0]), end())
    recorded = report(tmp_path)
    assert [row.weight for row in recorded.rows] == [3.0, 1.0]
    assert recorded.score.value == pytest.approx(8.0)  # b is not enabled
    given_ = report(tmp_path, weights={"a": 1.0, "b": 1.0, "c": 2.0})
    assert [row.name for row in given_.rows] == ["a", "b", "c"]
    assert given_.score.value == pytest.approx((8.0 * 100.0) ** 0.25)  # c counts as 0, plus 1
    assert given_.failure_rate == 0.0


def test_the_score_is_a_geometric_mean_of_scores_plus_one_in_which_nan_is_zero(
    tmp_path: Path,
) -> None:
    write(tmp_path, "a", config("a"), start(), rates([8.0]), end())
    write(tmp_path, "b", config("b"), start(), end())
    assert report(tmp_path).score.value == pytest.approx(3.0)
    unweighted = report(tmp_path, weights={"a": 0.0, "b": 0.0}).score
    assert (math.isnan(unweighted.value), unweighted.reason) == (True, "no benchmark has a weight")


def test_there_is_no_score_where_nothing_was_measured(tmp_path: Path) -> None:
    write(tmp_path, "b", config("b"), start(), end(1))
    assert report(tmp_path).score.reason == "nothing was measured"  # and not 1.00


def test_a_rate_of_zero(tmp_path: Path) -> None:
    write(tmp_path, "a", config("a", device=0), start(), rates([0.0, 0.0]), end())
    row = one(report(tmp_path))
    assert (row.perf, row.score) == (0.0, 0.0)
    assert math.isnan(row.std)


def test_the_keys_are_milabenchs() -> None:
    statistics = list(MilabenchStatistics.__struct_fields__)
    assert statistics == ["min", "q1", "median", "q3", "max", "mean", "std", "sem"]
    summary = list(MilabenchSummary.__struct_fields__)
    assert summary[:4] == ["n", "ngpu", "successes", "failures"]
    assert summary[4:] == ["train_rate", "walltime", "per_gpu", "gpu_load"]
