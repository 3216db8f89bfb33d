from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.build import report_of
from milabench_ddp.report.metrics import METRICS, Metric, metric_of
from milabench_ddp.report.model import NAN, Report, Row
from tests.support.result_files import config, end, job, rates, start, steps, told, write


def row(**changes: Any) -> Row:
    values: dict[str, Any] = {"name": "b", "fail": 0, "n": 1, "ngpu": 1, "perf": 5.0, "sem": NAN}
    rest = {"std": NAN, "peak_memory": NAN, "score": 5.0, "weight": 1.0}
    return Row(**{**values, **rest, **changes})


def number(name: str, of: Row) -> float:
    return metric_of(Report(False, (), (of,)), name, [of]).value(of)


@pytest.mark.parametrize(
    ("value", "spread", "format", "text"),
    [
        (0.934, 0.021, ".2f", "0.93 ±0.02"),
        (1.0, 0.0, ".2f", "1.00"),
        (0.5, NAN, ".2f", "0.50"),
        (1234.6, NAN, "", "1235"),
        (8.25, NAN, "", "8.25"),
        (NAN, 1.0, "", ""),
    ],
)
def test_shown(value: float, spread: float, format: str, text: str) -> None:
    assert Metric("m", "", lambda _: value, lambda _: spread, format=format).shown(row()) == text


def test_throughput_is_of_all_processes_of_a_launch(tmp_path: Path) -> None:
    for repeat in range(2):
        for device, rate in ((0, 10.0), (1, 30.0)):
            tag = ["b", f"R{repeat}", f"D{device}"]
            settings = config("b", device=device, tag=tag)
            write(tmp_path, ".".join(tag), settings, start(), rates([rate] * 4), end())
    (made,) = report_of([tmp_path]).rows
    assert (number("perf", made), number("throughput", made)) == (20.0, 40.0)


def test_latency_and_memory_of_ranks(tmp_path: Path) -> None:
    times = [steps(0, [10.0, 12.0, 90.0]), steps(1, [14.0] * 3), steps(2, [20.0] * 3)]
    peaks = [told(rank, memory_peak=[100.0 - rank, 200.0 + rank]) for rank in range(3)]
    write(tmp_path, "b.0", job("b"), start(), rates([1.0] * 3), *times, *peaks, end())
    (made,) = report_of([tmp_path]).rows
    assert number("latency", made) == 14.0
    assert (number("allocated", made), number("reserved", made)) == (100.0, 202.0)


def test_latency_that_the_program_told() -> None:
    assert number("latency", row(details={"facts": {"model": {"step_ms": 8.25}}})) == 8.25
    with_odd = row(details={"facts": {"model": {"step_ms": "fast"}}})
    assert number("latency", with_odd) != number("latency", with_odd)  # NaN


def test_whatever_the_programs_tell() -> None:
    made = row(details={"facts": {"model": {"compile_s": 3.5, "name": "x"}}})
    assert number("compile_s", made) == 3.5
    with pytest.raises(SelectionError, match=r"did you mean `compile_s`\?; known are .*efficiency"):
        metric_of(Report(False, (), (made,)), "compile", [made])


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.meaning and name == metric.name for name, metric in METRICS.items())
