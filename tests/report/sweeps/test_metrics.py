from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Row
from milabench_ddp.report.sweeps.metrics import METRICS, Metric, metric_of
from milabench_ddp.report.sweeps.settings import Cell
from milabench_ddp.report.told import Told
from tests.support.result_files import config, end, job, rates, start, steps, told, write


def row(**changes: Any) -> Row:
    values: dict[str, Any] = {"name": "b", "fail": 0, "n": 1, "ngpu": 1, "perf": 5.0, "sem": NAN}
    rest = {"std": NAN, "peak_memory": NAN, "score": 5.0, "weight": 1.0}
    return Row(**{**values, **rest, **changes})


def number(name: str, of: Row) -> float:
    return metric_of(name, [of], lambda _: True).cell(of).value


@pytest.mark.parametrize(
    ("value", "spread", "format", "text"),
    [
        (0.934, 0.04, ".2f", "0.93 ±0.04"),
        (1.0, 0.0, ".2f", "1.00"),
        (0.5, NAN, ".2f", "0.50"),
        (12345.6, NAN, ".4g", "12346"),
        (8.25, NAN, ".4g", "8.25"),
        (NAN, 1.0, "", "-"),
    ],
)
def test_shown(value: float, spread: float, format: str, text: str) -> None:
    assert Metric("", lambda _: Cell(value, spread), format).cell(row()).text == text


def test_throughput_is_of_all_processes_of_a_launch(tmp_path: Path) -> None:
    for repeat in range(2):
        for device, rate in ((0, 10.0), (1, 30.0)):
            tag = ["b", f"R{repeat}", f"D{device}"]
            settings = config("b", device=device, tag=tag)
            write(tmp_path, ".".join(tag), settings, start(), rates([rate] * 4), end())
    (made,) = report_of([tmp_path]).rows
    assert (number("perf", made), number("throughput", made)) == (20.0, 40.0)


@pytest.mark.parametrize("dead", [0, 3])
def test_throughput_is_of_the_launches_in_which_none_failed(tmp_path: Path, dead: int) -> None:
    """A device of four fails in the second of two launches: the others do not get slower."""
    for repeat in range(2):
        for device in range(4):
            tag = ["b", f"R{repeat}", f"D{device}"]
            failed = repeat == 1 and device == dead
            code, series = (1, "") if failed else (0, rates([10.0] * 4))
            settings = config("b", device=device, tag=tag)
            write(tmp_path, ".".join(tag), settings, start(), series, end(code))
    (made,) = report_of([tmp_path]).rows
    assert (made.perf, made.throughput, made.score) == (10.0, 40.0, 35.0)


def test_latency_and_memory_of_ranks(tmp_path: Path) -> None:
    times = [steps(0, [10.0, 12.0, 90.0]), steps(1, [14.0] * 3), steps(2, [20.0] * 3)]
    peaks = [told(rank, memory_peak=[100.0 - rank, 200.0 + rank]) for rank in range(3)]
    write(tmp_path, "b.0", job("b"), start(), rates([1.0] * 3), *times, *peaks, end())
    (made,) = report_of([tmp_path]).rows
    assert number("latency", made) == 14.0
    assert (number("allocated", made), number("reserved", made)) == (100.0, 202.0)


def test_latency_that_the_program_told() -> None:
    assert number("latency", row(facts={"model": {"step_ms": 8.25}})) == 8.25
    with_odd = row(facts={"model": {"step_ms": "fast"}})
    assert number("latency", with_odd) != number("latency", with_odd)  # NaN


def test_whatever_the_programs_tell() -> None:
    made = row(told={"compile_s": Told((3.0, 4.0))})
    assert number("compile_s", made) == 3.5
    assert metric_of("compile_s", [made], lambda _: True).cell(made).text == "3.5 ±0.5"
    with pytest.raises(SelectionError, match=r"did you mean `compile_s`\?"):
        metric_of("compile", [made], lambda _: True)


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.meaning for metric in METRICS.values())


def test_bandwidths_of_jobs_do_not_add_up_but_those_of_devices_do(tmp_path: Path) -> None:
    for index in range(2):
        values = rates([50.0] * 9, units="GB/s")
        links = job("links", tag=["links", str(index)], plan={"method": "njobs", "n": 2})
        write(tmp_path, f"links.{index}", links, start(), values, end())
        memory = config("memory", device=index, tag=["memory", f"D{index}"])
        write(tmp_path, f"memory.D{index}", memory, start(), values, end())
    found = {row.name: (row.throughput, row.score) for row in report_of([tmp_path]).rows}
    assert found == {"links": (50.0, 50.0), "memory": (100.0, 100.0)}


def test_efficiency_says_what_it_is_where_nothing_was_measured() -> None:
    meaning = metric_of("efficiency", [], lambda _: True).meaning
    assert meaning.startswith("of the fewest nodes, and half of its ")
