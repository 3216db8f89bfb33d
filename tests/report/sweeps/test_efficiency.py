import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Row, Rows
from milabench_ddp.report.statistics.values import NAN
from milabench_ddp.report.sweeps.efficiency import ALONE, UNCLEAR, efficiencies, scaling
from milabench_ddp.report.sweeps.metrics import metric_of
from tests.support.result_files import end, job, rates, start, told, write


def point(nodes: int, perf: float, half: float = 0.0, launches: int = 5, **matrix: Any) -> Row:
    """A combination whose interval is ``perf``, plus or minus the fraction ``half`` of it."""
    interval = [perf * (1 - half), perf * (1 + half)]
    config = {"matrix": {"nodes": nodes, **matrix}}
    name = "-".join(map(str, (nodes, *matrix.values())))
    return Row(
        name, 0, 1, nodes, perf, NAN, NAN, NAN, perf, 1.0, config=config,
        interval=interval, launches=launches, reporting=launches, per_launch=1.0,
    )  # fmt: skip


def values_of(rows: Rows) -> dict[str, float]:
    return {name: of.value for name, of in efficiencies(rows, lambda _: True).items()}


def test_worked_example() -> None:
    found = efficiencies([point(2, 200.0, 0.03), point(8, 640.0, 0.04)], lambda _: True)
    assert (found["2"].value, found["2"].spread) == (1.0, 0.0)
    assert found["8"].value == pytest.approx(0.8)
    assert found["8"].spread == pytest.approx(0.8 * 0.05)


def test_a_single_launch_has_no_spread_to_compare_by() -> None:
    for ones in ((1, 5), (5, 1), (1, 1)):
        table = [point(2, 200.0, 0.03, ones[0]), point(8, 640.0, 0.04, ones[1])]
        found = efficiencies(table, lambda _: True)
        assert found["8"].value == pytest.approx(0.8)
        assert math.isnan(found["8"].spread)


POSITIVE = st.floats(0.01, 1e6)


@given(st.dictionaries(st.integers(1, 64), POSITIVE, min_size=2), POSITIVE)
def test_units_do_not_matter(rates: dict[int, float], scale: float) -> None:
    one = efficiencies([point(n, r) for n, r in rates.items()], lambda _: True)
    other = efficiencies([point(n, r * scale) for n, r in rates.items()], lambda _: True)
    for name, found in one.items():
        assert other[name].value == pytest.approx(found.value)


@given(st.sets(st.integers(1, 64), min_size=2, max_size=2), POSITIVE)
def test_what_scales_perfectly_has_1(nodes: set[int], rate: float) -> None:
    table = [point(n, rate * n) for n in nodes]
    for found in efficiencies(table, lambda _: True).values():
        assert found.value == pytest.approx(1.0)


def sweep_of(name: str, rates: dict[int, float], **settings: Any) -> list[Row]:
    """The combinations of a matrix of nodes, with more of their configuration."""
    found = []
    for nodes, rate in rates.items():
        of = point(nodes, rate)
        found.append(replace(of, name=f"{name}-{nodes}", config={**of.config, **settings}))
    return found


@pytest.mark.parametrize("differ", [{"program": "b.py"}, {"sweep": "b"}])
@pytest.mark.parametrize("first", ["a", "b"])
def test_a_matrix_is_not_compared_with_another_of_the_same_axes(
    differ: dict[str, Any], first: str
) -> None:
    table = sweep_of("a", {1: 100.0, 2: 180.0}) + sweep_of("b", {1: 50.0, 2: 80.0}, **differ)
    table.sort(key=lambda row: row.name[0] != first)
    assert values_of(table) == {"a-1": 1.0, "a-2": 0.9, "b-1": 1.0, "b-2": 0.8}


def test_checkouts_may_differ() -> None:
    table = sweep_of("a", {1: 100.0}, program="/x/benchmarks/gpt/main.py")
    table += sweep_of("a", {2: 180.0}, program="/y/benchmarks/gpt/main.py")
    assert efficiencies(table, lambda _: True)["a-2"].value == pytest.approx(0.9)


@pytest.mark.parametrize("nodes", [(1, 2, 4), (2, 4, 16)])
def test_matrices_whose_options_depend_on_the_nodes(nodes: tuple[int, ...]) -> None:
    """Two matrices of the same axes: their names tell them apart; without these, nothing does."""
    table = []
    for name, slower in (("a", 1.0), ("b", 0.5)):
        for count in nodes:
            options = {"argv": {"--batch": f"{name}{count}"}, "sweep": name}
            speed = count * (slower if count > nodes[0] else 1.0)
            table += sweep_of(name, {count: speed}, **options)
    first, *more = nodes
    values = {f"a-{count}": 1.0 for count in nodes} | {f"b-{first}": 1.0}
    assert values_of(table) == values | {f"b-{count}": 0.5 for count in more}
    unnamed = [replace(row, config={**row.config}) for row in table]
    for row in unnamed:
        del row.config["sweep"]  # type: ignore[attr-defined]
    found = efficiencies(unnamed, lambda _: True)
    assert all(math.isnan(of.value) and of.note == UNCLEAR for of in found.values())


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
    assert values_of(rows) == {"b-1": 1.0, "b-2": 1.0, "b-16": 0.5, "b-128": 1.0}
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


def test_only_equal_settings_are_compared() -> None:
    table = [point(1, 10.0, model="a"), point(2, 10.0, model="a"), point(2, 7.0, model="b")]
    found = efficiencies(table, lambda _: True)
    assert found["2-a"].value == 0.5
    assert math.isnan(found["2-b"].value)


def test_a_base_without_results_is_not_taken() -> None:
    table = [point(1, 1.0), point(2, 10.0), point(4, 10.0), point(8, NAN)]
    found = efficiencies(table, lambda row: row.name != "1")
    assert {name: of.value for name, of in found.items()} == {"2": 1.0, "4": 0.5}
    assert {of.note for of in found.values()} == {
        "against 2 nodes: the point of 1 has no throughput"
    }


@pytest.mark.parametrize("nodes", [1, 8])
def test_a_point_is_not_compared_with_itself(nodes: int) -> None:
    """Alone, or the only one of its sweep that measured anything."""
    for table in ([point(nodes, 10.0)], [point(2, NAN), point(nodes, 10.0), point(4, NAN)]):
        (found,) = efficiencies(table, lambda _: True).values()
        assert math.isnan(found.value)
        assert found.note == "measured on no other number of nodes"


def test_without_a_matrix_the_recorded_nodes_and_options_tell() -> None:
    def row(name: str, nodes: int, perf: float, batch: int) -> Row:
        config = {"num_machines": nodes, "argv": {"--batch-size": batch}, "group": "g"}
        return Row(name, 0, 1, 1, perf, NAN, NAN, NAN, perf, 1.0, config=config)

    table = [row("a", 1, 10.0, 4), row("b", 2, 16.0, 4), row("c", 2, 30.0, 8)]
    found = efficiencies(table, lambda _: True)
    assert (found["a"].value, found["b"].value, found["c"].note) == (1.0, 0.8, ALONE)
    assert math.isnan(found["b"].spread)  # nothing was measured twice


def test_scaling() -> None:
    assert scaling(point(1, 1.0)) == "weak"
    assert scaling(point(1, 1.0, scaling="strong")) == "strong"
    assert scaling(Row("a", 0, 1, 1, 1, 1, 1, 1, 1, 1, config={"scaling": "strong"})) == "strong"
