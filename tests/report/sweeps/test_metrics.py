import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Row, Summary
from milabench_ddp.report.sweeps.metrics import METRICS, Metric, efficiencies, metric_of, scaling
from milabench_ddp.report.told import Told
from tests.support.result_files import config, end, job, rates, start, steps, told, write


def row(**changes: Any) -> Row:
    values: dict[str, Any] = {"name": "b", "fail": 0, "n": 1, "ngpu": 1, "perf": 5.0, "sem": NAN}
    rest = {"std": NAN, "peak_memory": NAN, "score": 5.0, "weight": 1.0}
    return Row(**{**values, **rest, **changes})


def number(name: str, of: Row) -> float:
    return metric_of(name, [of], lambda _: True).value(of)


@pytest.mark.parametrize(
    ("value", "spread", "format", "text"),
    [
        (0.934, 0.04, ".2f", "0.93 ±0.04"),
        (1.0, 0.0, ".2f", "1.00"),
        (0.5, NAN, ".2f", "0.50"),
        (12345.6, NAN, ".4g", "12346"),
        (8.25, NAN, ".4g", "8.25"),
        (NAN, 1.0, "", ""),
    ],
)
def test_shown(value: float, spread: float, format: str, text: str) -> None:
    assert Metric("", lambda _: value, lambda _: spread, format=format).shown(row()) == text


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
    assert number("latency", row(summary=Summary(facts={"model": {"step_ms": 8.25}}))) == 8.25
    with_odd = row(summary=Summary(facts={"model": {"step_ms": "fast"}}))
    assert number("latency", with_odd) != number("latency", with_odd)  # NaN


def test_whatever_the_programs_tell() -> None:
    made = row(told={"compile_s": Told((3.0, 4.0))})
    assert number("compile_s", made) == 3.5
    assert metric_of("compile_s", [made], lambda _: True).shown(made) == "3.5 ±0.5"
    with pytest.raises(SelectionError, match=r"did you mean `compile_s`\?; choose from .*eff"):
        metric_of("compile", [made], lambda _: True)


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.meaning for metric in METRICS.values())


def point(nodes: int, perf: float, half: float = 0.0, launches: int = 5, **matrix: Any) -> Row:
    """A combination whose interval is ``perf``, plus or minus the fraction ``half`` of it."""
    interval = [perf * (1 - half), perf * (1 + half)]
    config = {"matrix": {"nodes": nodes, **matrix}}
    name = "-".join(map(str, (nodes, *matrix.values())))
    summary = Summary(interval=interval, launches=launches, reporting=launches, per_launch=1.0)
    return Row(name, 0, 1, nodes, perf, NAN, NAN, NAN, perf, 1.0, summary=summary,
               config=config)  # fmt: skip


def test_worked_example() -> None:
    found = efficiencies([point(2, 200.0, 0.03), point(8, 640.0, 0.04)], lambda _: True)
    assert (found["2"].value, found["2"].spread) == (1.0, 0.0)
    assert found["8"].value == pytest.approx(0.8)
    assert found["8"].spread == pytest.approx(0.8 * 0.05)
    assert found["8"].base == 2


def test_a_single_launch_has_no_spread_to_compare_by() -> None:
    for ones in ((1, 5), (5, 1), (1, 1)):
        table = [point(2, 200.0, 0.03, ones[0]), point(8, 640.0, 0.04, ones[1])]
        found = efficiencies(table, lambda _: True)
        assert found["8"].value == pytest.approx(0.8)
        assert math.isnan(found["8"].spread)


POSITIVE = st.floats(0.01, 1e6)


@given(st.dictionaries(st.integers(1, 64), POSITIVE, min_size=1), POSITIVE)
def test_units_do_not_matter(rates: dict[int, float], scale: float) -> None:
    one = efficiencies([point(n, r) for n, r in rates.items()], lambda _: True)
    other = efficiencies([point(n, r * scale) for n, r in rates.items()], lambda _: True)
    for name, found in one.items():
        assert other[name].value == pytest.approx(found.value)


@given(st.integers(1, 64), st.integers(1, 64), POSITIVE)
def test_what_scales_perfectly_has_1(first: int, second: int, rate: float) -> None:
    table = [point(n, rate * n) for n in {first, second}]
    for found in efficiencies(table, lambda _: True).values():
        assert found.value == pytest.approx(1.0)


def sweep_of(name: str, rates: dict[int, float], **settings: Any) -> list[Row]:
    """The combinations of a matrix of nodes, with more of their configuration."""
    found = []
    for nodes, rate in rates.items():
        of = point(nodes, rate)
        found.append(replace(of, name=f"{name}-{nodes}", config={**of.config, **settings}))
    return found


@pytest.mark.parametrize("differ", [{"program": "b.py"}, {"argv": {"--model": "b"}}])
@pytest.mark.parametrize("first", ["a", "b"])
def test_a_matrix_is_not_compared_with_another_of_the_same_axes(
    differ: dict[str, Any], first: str
) -> None:
    table = sweep_of("a", {1: 100.0, 2: 180.0}) + sweep_of("b", {1: 50.0, 2: 80.0}, **differ)
    table.sort(key=lambda row: row.name[0] != first)
    found = efficiencies(table, lambda _: True)
    values = {name: of.value for name, of in found.items()}
    assert values == {"a-1": 1.0, "a-2": 0.9, "b-1": 1.0, "b-2": 0.8}


def test_checkouts_may_differ() -> None:
    table = sweep_of("a", {1: 100.0}, program="/x/benchmarks/gpt/main.py")
    table += sweep_of("a", {2: 180.0}, program="/y/benchmarks/gpt/main.py")
    assert efficiencies(table, lambda _: True)["a-2"].value == pytest.approx(0.9)


def test_two_matrices_whose_options_depend_on_the_nodes_have_no_efficiency() -> None:
    table = []
    for name in "ab":
        for nodes in (1, 2):
            table += sweep_of(name, {nodes: 10.0}, argv={"--batch": f"{name}{nodes}"})
    assert efficiencies(table, lambda _: True).keys() == {"a-1", "b-1"}


def fabric(folder: Path, bandwidths: dict[int, float], **comm: Any) -> Path:
    """A run of all-reduces over nodes, with the bus bandwidth of each number of nodes."""
    for nodes, bandwidth in bandwidths.items():
        settings = job(f"b-{nodes}", 8, nodes, matrix={"nodes": nodes}, scaling="weak")
        rows = told(comm=comm) if comm else ""
        values = rates([bandwidth] * 9, units="GB/s")
        write(folder, f"b-{nodes}.0", settings, start(), values, rows, end())
    return folder


@pytest.mark.parametrize("comm", [{"op": "all_reduce", "bytes": 8, "bus_gb_s": 100.0}, {}])
def test_bandwidth_does_not_add_up_over_nodes(tmp_path: Path, comm: dict[str, Any]) -> None:
    run = fabric(tmp_path, {1: 400.0, 2: 400.0, 16: 200.0, 128: 400.0}, **comm)
    rows = report_of([run]).rows
    found = efficiencies(rows, lambda _: True)
    values = {name: of.value for name, of in found.items()}
    assert values == {"b-1": 1.0, "b-2": 1.0, "b-16": 0.5, "b-128": 1.0}
    meaning = metric_of("efficiency", rows, lambda _: True).meaning
    assert meaning == (
        "of the bandwidth of the fewest nodes, and half of its 95 % interval over launches "
        "(a single launch has none)"
    )


def test_bandwidth_and_training_in_one_sweep(tmp_path: Path) -> None:
    fabric(tmp_path, {2: 400.0, 4: 400.0})
    for nodes in (2, 4):
        settings = job(f"t-{nodes}", 8, nodes, matrix={"nodes": nodes, "model": "t"})
        write(tmp_path, f"t-{nodes}.0", settings, start(), rates([90.0 * nodes] * 9), end())
    rows = report_of([tmp_path]).rows
    found = efficiencies(rows, lambda _: True)
    assert {of.value for of in found.values()} == {1.0}
    assert metric_of("efficiency", rows, lambda _: True).meaning == (
        "of the throughput of the fewest nodes, times nodes (weak scaling), or the bandwidth of "
        "the fewest nodes, and half of its 95 % interval over launches "
        "(a single launch has none)"
    )


def test_bandwidths_of_jobs_do_not_add_up_but_those_of_devices_do(tmp_path: Path) -> None:
    for index in range(2):
        values = rates([50.0] * 9, units="GB/s")
        links = job("links", tag=["links", str(index)], plan={"method": "njobs", "n": 2})
        write(tmp_path, f"links.{index}", links, start(), values, end())
        memory = config("memory", device=index, tag=["memory", f"D{index}"])
        write(tmp_path, f"memory.D{index}", memory, start(), values, end())
    found = {row.name: (row.throughput, row.score) for row in report_of([tmp_path]).rows}
    assert found == {"links": (50.0, 50.0), "memory": (100.0, 100.0)}


def test_only_equal_settings_are_compared() -> None:
    table = [point(1, 10.0, model="a"), point(2, 10.0, model="a"), point(2, 7.0, model="b")]
    found = efficiencies(table, lambda _: True)
    assert found["2-a"].value == 0.5
    assert (found["2-b"].value, found["2-b"].base) == (1.0, 2)


def test_a_base_without_results_is_not_taken() -> None:
    table = [point(1, 1.0), point(2, 10.0), point(4, 10.0), point(8, NAN)]
    found = efficiencies(table, lambda row: row.name != "1")
    assert found.keys() == {"2", "4"}
    assert (found["4"].value, found["4"].base, found["4"].fewest) == (0.5, 2, 1)


def test_without_a_matrix_the_recorded_nodes_and_options_tell() -> None:
    def row(name: str, nodes: int, perf: float, batch: int) -> Row:
        config = {"num_machines": nodes, "argv": {"--batch-size": batch}, "group": "g"}
        return Row(name, 0, 1, 1, perf, NAN, NAN, NAN, perf, 1.0, config=config)

    table = [row("a", 1, 10.0, 4), row("b", 2, 16.0, 4), row("c", 2, 30.0, 8)]
    found = efficiencies(table, lambda _: True)
    assert {name: of.value for name, of in found.items()} == {"a": 1.0, "b": 0.8, "c": 1.0}
    assert math.isnan(found["b"].spread)  # nothing was measured twice


def test_scaling() -> None:
    assert scaling(point(1, 1.0)) == "weak"
    assert scaling(point(1, 1.0, scaling="strong")) == "strong"
    assert scaling(Row("a", 0, 1, 1, 1, 1, 1, 1, 1, 1, config={"scaling": "strong"})) == "strong"
