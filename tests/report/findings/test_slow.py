"""Devices that are slower than the others."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.result_files import config, end, job, rates, start, steps, told, write

NAMES = ("slow_node", "slow_device", "slow_rank")
NODES = 4


def found(folder: Path) -> list[Finding]:
    return [each for each in report_of([folder]).findings if each.name in NAMES]


@pytest.mark.parametrize("slow", [0, 1])
def test_of_two_devices_the_slow_one_is_named_and_a_loaded_one_is_not(
    tmp_path: Path, slow: int
) -> None:
    for run, part in (("slow", slice(None)), ("loaded", slice(12))):
        for device in range(2):
            speeds = [100.0 + 0.1 * (k % 5) for k in range(40)]
            if device == slow:
                speeds[part] = [speed / 1.2 for speed in speeds[part]]
            tag = ["b", f"D{device}"]
            lines = config("b", device=device, tag=tag), start(), rates(speeds, steps=1), end(0)
            write(tmp_path / run, ".".join(tag), *lines)
    found = [f for f in report_of([tmp_path / "slow"]).findings if f.name == "slow_device"]
    assert [f.place for f in found] == [f"device {slow}"]
    assert f"slower than device {1 - slow} (" in found[0].sentence
    loaded = report_of([tmp_path / "loaded"]).findings
    assert not [f for f in loaded if f.name == "slow_device"]


def ranks_of(folder: Path, *slow: int) -> list[Finding]:
    """A job of two ranks on each node, of which some take 10 % longer in their forward passes."""
    lines = []
    for rank in range(2 * NODES):
        forward = [6.0 * (1.1 if rank in slow else 1) + 0.01 * ((k + rank) % 5) for k in range(60)]
        own = {"forward": forward, "backward": [4.0] * 60, "exposed_communication": [1.0] * 60}
        lines.append(
            steps(rank, [sum(each) for each in zip(*own.values(), strict=True)], parts=own)
        )
    values = rates([100.0 + k % 3 for k in range(60)], rank=0)
    mode = told(model={"mode": "ddp"})
    write(folder, "b.0", job("b", 2, NODES), start(), values, mode, *lines, end())
    return found(folder)


@pytest.mark.parametrize("node", [0, NODES - 1])
def test_slow_ranks_of_a_node_are_a_slow_node(tmp_path: Path, node: int) -> None:
    (slow,) = ranks_of(tmp_path, 2 * node, 2 * node + 1)
    assert (slow.name, slow.severity, slow.place) == ("slow_node", "warning", f"node {node}")
    assert slow.sentence.startswith(
        f"b: node {node} is 6.0% slower than the median of the others in its own work, with 2 of "
        f"its 2 ranks (10.6"
    )
    assert "mostly forward): they wait for it; if they were as fast" in slow.sentence


@pytest.mark.parametrize("rank", [0, 2 * NODES - 1])
def test_a_slow_rank_alone_is_not_a_slow_node(tmp_path: Path, rank: int) -> None:
    (slow,) = ranks_of(tmp_path, rank)
    assert (slow.name, slow.place) == ("slow_rank", f"rank {rank} (node {rank // 2})")


def test_a_slow_node_and_a_slow_rank_of_another_are_told_apart(tmp_path: Path) -> None:
    assert [(each.name, each.place) for each in ranks_of(tmp_path, 2, 3, 7)] == [
        ("slow_node", "node 1"),
        ("slow_rank", "rank 7 (node 3)"),
    ]


@pytest.mark.parametrize("node", [0, NODES - 1])
def test_slow_devices_of_a_node_are_a_slow_node(tmp_path: Path, node: int) -> None:
    for number in range(NODES):
        for device in range(4):
            speed = 100.0 + 0.1 * device - 10.0 * (number == node)
            values = rates([speed + 0.1 * (k % 5) for k in range(60)], steps=1)
            tag = ["b", f"D{device}", f"n{number}"]
            settings = config("b", device=device, tag=tag)
            write(tmp_path, ".".join(tag), settings, start(), values, end())
    (slow,) = found(tmp_path)
    assert (slow.name, slow.place) == ("slow_node", f"n{node}")
    assert "slower than the median of the others, with 4 of its 4 devices (90." in slow.sentence
