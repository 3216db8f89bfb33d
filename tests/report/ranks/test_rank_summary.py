"""Ranks: their names, their measurements, and the local parts of a step."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.report.process import ProcessResult
from milabench_ddp.report.ranks.rank_summary import (
    RankId,
    RankSummary,
    labels,
    rank_id,
    summarize_ranks,
)
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.records import Record
from tests.support.result_files import config, end, job, parts, rates, start, steps, told, write


def known(*folders: Path) -> tuple[RankSummary, ...]:
    runs = [read_run(folder) for folder in folders]
    processes = [ProcessResult(run, record) for run in runs for record in run.records]
    return summarize_ranks((process.record, process.unsteady_of) for process in processes)


def test_what_each_rank_measured(tmp_path: Path) -> None:
    write(
        tmp_path,
        "b.0",
        job("b"),
        start(),
        told(model={"mode": "ddp"}),
        parts(0, forward=30.0, backward=60.0, optimizer=8.0, data=2.0),
        steps(0, [100.0, 102.0, 98.0], [2.0, 2.5, 1.5]),
        parts(1, forward=40.0, backward=50.0, optimizer=8.0, data=2.0),
        steps(1, [100.0, 102.0, 98.0, 120.0]),
        told(1, memory_peak=[10.0, 20.0]),
        end(),
    )
    first, second = known(tmp_path)
    assert (first.id.label, first.steps, first.median, first.waited) == ("rank 0", 3, 100.0, 2.0)
    assert first.local == {"forward": 30.0, "optimizer": 8.0, "data": 2.0}
    assert second.local_ms == 50.0
    assert math.isnan(second.local_error)  # its own work in each step is not known
    assert (second.allocated, second.reserved) == (10.0, 20.0)
    assert first.shares["backward"] == pytest.approx(0.6)
    assert math.isnan(first.allocated)


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_quantiles_are_numpys(
    tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    write(folder, "b.0", job("b"), start(), steps(0, values), end())
    (member,) = known(folder)
    assert member.median == pytest.approx(np.median(values), rel=1e-12)
    assert member.p95 == pytest.approx(np.percentile(values, 95), rel=1e-12)


def test_steps_before_the_steady_state_are_left_out(tmp_path: Path) -> None:
    """Rank 0's rates show when it begins; all ranks of the process make each step together."""
    slow_start = [10.0] * 6 + [100.0 + 0.1 * (k % 3) for k in range(30)]
    times = [1000.0 / rate for rate in slow_start]
    write(
        tmp_path,
        "b.0",
        job("b"),
        start(),
        rates(slow_start, steps=1),
        steps(0, times),
        steps(1, times),
        end(),
    )
    assert [(m.steps, m.p95 <= 10.0) for m in known(tmp_path)] == [(30, True)] * 2


def test_launches_of_one_device_are_pooled(tmp_path: Path) -> None:
    for repeat, ms in ((0, [10.0, 10.0]), (1, [30.0, 30.0, 30.0])):
        tag = ["b", f"R{repeat}", "D1"]
        write(tmp_path, ".".join(tag), config("b", device=1, tag=tag), start(), steps(0, ms), end())
    (member,) = known(tmp_path)
    assert (member.id.name, member.steps, member.median) == ("device 1", 5, 30.0)
    assert member.local == {"step": 30.0}


def test_alone_on_a_device_all_of_the_median_step_is_its_own(tmp_path: Path) -> None:
    """One step of the 5 was disturbed: the mean is 140 ms, the median 100."""
    of = parts(0, forward=42.0, backward=84.0, optimizer=14.0)
    times = steps(0, [100.0] * 4 + [300.0])
    write(tmp_path, "b.D0", config("b", device=0, tag=["b", "D0"]), start(), of, times, end())
    (member,) = known(tmp_path)
    assert member.local == pytest.approx({"forward": 30.0, "backward": 60.0, "optimizer": 10.0})
    assert member.local_error == pytest.approx(80.0 / 5**0.5)


@pytest.mark.parametrize(
    ("mode", "own"),
    [("ddp", 50.0), ("fsdp", 10.0), ("tp", 10.0), ("pipeline", math.nan), (None, math.nan)],
)
def test_what_is_a_ranks_own_depends_on_the_mode(tmp_path: Path, mode: str, own: float) -> None:
    of = parts(0, forward=40.0, backward=50.0, optimizer=8.0, data=2.0)
    write(tmp_path, "b.0", job("b"), start(), told(model={"mode": mode}), of, end())
    (member,) = known(tmp_path)
    assert member.local_ms == pytest.approx(own, nan_ok=True)
    assert member.part_ms["backward"] == (50.0, 0.5)


JOB = {"plan": {"method": "njobs", "n": 1}, "devices": [0, 1]}


@pytest.mark.parametrize(
    ("settings", "rank", "label"),
    [
        ({"device": 3, "tag": ["b", "D3"]}, 0, "device 3"),
        ({"device": 3, "tag": ["b", "R1", "D3", "node7"]}, 0, "device 3 (node7)"),
        ({**JOB, "tag": ["b", "0"]}, 1, "rank 1"),
        ({**JOB, "tag": ["b", "0", "a"], "num_machines": 2}, 1, "rank 1 (node 0)"),
        ({**JOB, "tag": ["b", "0", "a"], "num_machines": 2}, 2, "rank 2 (node 1)"),
        ({**JOB, "plan": {"method": "njobs", "n": 2}, "tag": ["b", "1"]}, 0, "job 1 rank 0"),
        ({}, 0, "rank 0"),
        ({"tag": "odd", "device": "odd"}, 0, "device odd"),
    ],
)
def test_names(settings: dict[str, Any], rank: int, label: str) -> None:
    assert rank_id(Record(Path("b.data"), settings), rank).label == label


def test_a_repeat_is_the_same_place() -> None:
    tags = (["b", "R0", "D1"], ["b", "R1", "D1"])
    first, again = (rank_id(Record(Path("b.data"), {"device": 1, "tag": tag}), 0) for tag in tags)
    assert first == again


def test_a_rank_that_tells_its_node_is_there(tmp_path: Path) -> None:
    record = Record(Path("b.data"), {"tag": ["b", "0"], "num_machines": 2, "devices": [0, 1]})
    record.ranks[1] = Rank(node="node7")
    assert rank_id(record, 1).label == "rank 1 (node7)"
    assert rank_id(record, 3).label == "rank 3 (node 1)"


def test_ranks_as_people_write_them() -> None:
    def rank(number: int, node: str = "", name: str = "rank") -> RankId:
        return RankId(node, 0, number, f"{name} {number}")

    assert labels([]) == ""
    assert labels([rank(5)]) == "rank 5"
    assert labels([rank(n) for n in (0, 1, 2, 7, 9, 10)]) == "ranks 0-2, 7, 9-10"
    assert labels([rank(0, "a"), rank(1, "a"), rank(2, "b")]) == "ranks 0-1 (a), rank 2 (b)"
    assert labels([rank(1, name="device"), rank(0, name="device")]) == "devices 0-1"
