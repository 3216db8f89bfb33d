"""The points of a prediction, from result files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict, replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.prediction.points import Points, points_of
from tests.support.planted_scaling import Planted, written
from tests.support.result_files import end, job, rates, start, steps, told, write

CHANCE = np.random.default_rng(1)


def launch(count: int) -> Any:
    return Planted().launched(count, CHANCE, 20)


def read(folder: Path, **options: Any) -> list[Points | tuple[str, str]]:
    return list(points_of(report_of([folder], **options).rows))


def reason(folder: Path) -> str:
    ((_, found),) = read(folder)
    return str(found)


def test_of_nodes(tmp_path: Path) -> None:
    made = {count: launch(count) for count in (4, 1)}
    for count, each in made.items():
        written(tmp_path, f"gpt-{count}", each)
    (found,) = read(tmp_path)
    assert isinstance(found, Points)
    assert (found.name, found.axis, found.each, found.mode) == ("gpt", "nodes", 1, "ddp")
    assert found.counts == [1, 4]
    for point in found.points:
        (got,), planted = point.launches, made[point.count]
        assert got.before == pytest.approx(planted.before[:, 1:], rel=1e-5)
        assert got.backward == pytest.approx(planted.backward[:, 1:], rel=1e-5, abs=1e-4)
        assert got.communication == pytest.approx(planted.communication[1:], abs=1e-4)
        assert got.step == pytest.approx(planted.step)
        assert got.units == pytest.approx(32 * point.count, rel=0.01)
        assert len(got.buckets) == len(planted.buckets)
        for one, other in zip(got.buckets, planted.buckets, strict=True):
            assert asdict(one) == pytest.approx(asdict(other))
    assert np.isnan(found.points[0].launches[0].slowdown)
    assert found.points[1].launches[0].slowdown == 1.0


def test_of_ranks_on_one_node(tmp_path: Path) -> None:
    """Two runs of the same benchmark: one word differs, the number of devices."""
    for ranks in (2, 4):
        alone = replace(launch(ranks), nodes=("",) * ranks)
        written(tmp_path / str(ranks), "gpt", alone, num_machines=1, devices=list(range(ranks)))
    folders = [tmp_path / "2", tmp_path / "4"]
    (found,) = points_of(report_of(folders, of_any_size=True).rows)
    assert isinstance(found, Points)
    assert (found.axis, found.each, found.counts) == ("ranks", 1, [2, 4])
    assert found.ranks(8) == 8


def test_ranks_of_a_node_stay_as_many(tmp_path: Path) -> None:
    for nodes, ranks in ((1, 2), (2, 4)):
        names = ("a", "a", "b", "b") if nodes > 1 else ("", "")
        written(tmp_path, f"gpt-{nodes}", replace(launch(ranks), nodes=names))
    (found,) = read(tmp_path)
    assert isinstance(found, Points)
    assert (found.each, found.ranks(8)) == (2, 16)


@pytest.mark.parametrize(
    ("counts", "config", "expected"),
    [
        ((2,), {}, "at least two numbers of nodes"),
        ((1, 2), {"scaling": "strong"}, "under strong scaling"),
    ],
)
def test_it_cannot_be_predicted(
    tmp_path: Path, counts: tuple[int, ...], config: dict[str, Any], expected: str
) -> None:
    for count in counts:
        written(tmp_path, f"gpt-{count}", launch(count), **config)
    assert expected in reason(tmp_path)


def test_nodes_with_other_numbers_of_ranks_are_refused(tmp_path: Path) -> None:
    written(tmp_path, "gpt-1", launch(1))
    written(tmp_path, "gpt-2", replace(launch(4), nodes=("a", "a", "b", "b")))
    assert "differ in the ranks of a node" in reason(tmp_path)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("pipeline", "not all ranks do the same work"),
        ("ddp", "does not tell what is exposed"),
        (None, "does not tell in which mode it trains"),
    ],
)
def test_what_its_ranks_do_not_tell(tmp_path: Path, mode: str | None, expected: str) -> None:
    for count in (1, 2):
        lines = [steps(rank, [10.0] * 20) for rank in range(count)]
        config = job(f"gpt-{count}", 1, count, matrix={"nodes": count})
        model = told(model={"mode": mode})
        measured = [start(), model, *lines, rates([1.0] * 20), end()]
        write(tmp_path, f"gpt-{count}.0", config, *measured)
    assert expected in reason(tmp_path)


def test_points_that_differ_in_more_are_not_of_one_sweep(tmp_path: Path) -> None:
    """Which options depend on the nodes is not known without the name of their matrix."""
    for count, batch in ((1, 8), (1, 16), (2, 8), (2, 32)):
        argv = {"--batch-size": batch}
        written(tmp_path, f"gpt-{count}-{batch}", launch(count), argv=argv)
    assert "differ in their nodes alone is not known" in reason(tmp_path)


def test_all_reduces_of_the_same_runs(tmp_path: Path) -> None:
    """They tell how long buckets take whose own times are not known."""
    for count in (1, 2, 4):
        planted = launch(count)
        unknown = tuple(replace(bucket, ms=None) for bucket in planted.buckets)
        written(tmp_path, f"gpt-{count}", replace(planted, buckets=unknown))
    row = {"op": "all_reduce", "among": "all", "ranks": 2, "bytes": 1000, "time_us": 25.0}
    write(tmp_path, "comm.0", job("comm"), start(), told(comm=row), rates([1.0] * 9), end())
    (found,) = read(tmp_path)
    assert isinstance(found, Points)
    assert found.comm == [(2, 1000.0, 0.025)]
