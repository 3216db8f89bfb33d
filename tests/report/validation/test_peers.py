"""Devices, ranks and nodes of a validation beside their peers."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from milabench_ddp.report.validation.peers import NO_PEERS, NODE
from tests.support.result_files import config, end, job, rates, start, steps, told, write
from tests.support.validated_runs import COUNT, TAGS, alone, failing, found, healthy, meta, series


def test_healthy_devices_pass_with_what_would_have_been_found(tmp_path: Path) -> None:
    alone(tmp_path, healthy())
    judged = found(tmp_path)
    assert {each.word for each in judged} == {"pass"}
    assert [each.place for each in judged].count(NODE) == 4
    assert len(judged) == 4 * 8 + 4
    assert {each.reference for each in judged} == {"peers"}
    assert all(0.04 < each.smallest < 0.12 for each in judged)
    first = judged[0]
    assert (first.node, first.place, first.unit) == ("n0", "device 0", "items/s")
    assert first.value == pytest.approx(100, rel=0.01)
    assert first.median == pytest.approx(101, rel=0.01)
    assert first.lower == pytest.approx(1 - first.value / first.median)


@pytest.mark.parametrize("place", [("n0", 0), ("n3", 7)])
def test_a_slow_device_fails_and_no_other_one(tmp_path: Path, place: tuple[str, int]) -> None:
    speeds = healthy()
    speeds[place] *= 0.9
    alone(tmp_path, speeds)
    assert failing(tmp_path) == [(place[0], f"device {place[1]}")]
    (bad,) = (each for each in found(tmp_path) if each.word == "fail")
    assert bad.lower == pytest.approx(0.1, abs=0.015)
    assert bad.median == pytest.approx(101, rel=0.01)


@pytest.mark.parametrize("node", ["n0", "n3"])
def test_a_slow_node_fails_as_a_whole(tmp_path: Path, node: str) -> None:
    speeds = healthy()
    speeds |= {place: 0.9 * speed for place, speed in speeds.items() if place[0] == node}
    alone(tmp_path, speeds)
    assert {each[0] for each in failing(tmp_path)} == {node}
    assert (node, NODE) in failing(tmp_path)


def test_of_two_nodes_it_cannot_be_told_which_is_slow(tmp_path: Path) -> None:
    speeds = {
        place: speed * (0.8 if place[0] == "n1" else 1) for place, speed in healthy(2).items()
    }
    alone(tmp_path, speeds)
    assert failing(tmp_path) == []
    words = {(each.node, each.place): each.word for each in found(tmp_path)}
    assert {words["n0", NODE], words["n1", NODE]} == {"cannot tell"}


def test_of_two_devices_it_cannot_be_told_which_is_slow(tmp_path: Path) -> None:
    alone(tmp_path / "differ", {("", 0): 100, ("", 1): 80})
    assert [each.word for each in found(tmp_path / "differ")] == ["cannot tell"] * 2
    alone(tmp_path / "alike", {("", 0): 100, ("", 1): 99})
    assert [(each.word, each.node) for each in found(tmp_path / "alike")] == [("pass", "")] * 2


def test_one_device_has_no_peers(tmp_path: Path) -> None:
    alone(tmp_path, {("", 0): 100})
    (only,) = found(tmp_path)
    assert (only.word, only.why, only.reference) == ("cannot tell", NO_PEERS, "")


def test_another_product_is_no_peer(tmp_path: Path) -> None:
    alone(tmp_path, {("n0", k): 100 for k in range(4)})
    alone(tmp_path, {("n1", k): 50 for k in range(4)}, product="A100")
    assert failing(tmp_path) == []
    alone(tmp_path, {("n1", 3): 40}, product="A100")
    assert failing(tmp_path) == [("n1", "device 3")]


def test_a_benchmark_of_no_validation_is_not_judged(tmp_path: Path) -> None:
    for device in range(4):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings, start(), series(100 - 30 * device, 0), end())
    assert found(tmp_path, "b") == []


def test_a_device_that_hardly_measured_cannot_be_told(tmp_path: Path) -> None:
    alone(tmp_path, {("", k): 100 for k in range(4)})
    tag = ["flops", "D4"]
    settings = config("flops", device=4, tag=tag, tags=TAGS)
    write(tmp_path, ".".join(tag), settings, meta(""), start(), rates([50.0], steps=1), end())
    words = {each.place: each.word for each in found(tmp_path)}
    assert words.pop("device 4") == "cannot tell"
    assert set(words.values()) == {"pass"}


def test_a_device_under_load_for_a_while_does_not_fail(tmp_path: Path) -> None:
    speeds = {("", k): 100.0 for k in range(4)}
    alone(tmp_path, speeds)
    loaded = [50.0 if 20 <= k < 32 else 100.0 + 0.1 * (k % 5) for k in range(COUNT)]
    settings = config("flops", device=3, tag=["flops", "D3"], tags=TAGS)
    write(tmp_path, "flops.D3", settings, meta(""), start(), rates(loaded, steps=1), end())
    (last,) = (each for each in found(tmp_path) if each.place == "device 3")
    assert last.lower > 0.05
    assert last.word == "cannot tell"
    assert last.smallest > 0.25


@pytest.mark.parametrize(("slow", "word"), [(0.85, "cannot tell"), (0.2, "fail")])
def test_where_all_are_unsure_only_what_is_clear_fails(
    tmp_path: Path, slow: float, word: str
) -> None:
    for device in range(6):
        speed = slow if device == 5 else 1.0
        values = [100 * speed * (1 + 0.3 * ((7 * k + device) % 5 - 2)) for k in range(20)]
        settings = config("flops", device=device, tag=["flops", f"D{device}"], tags=TAGS)
        lines = settings, meta(""), start(), rates(values, steps=1), end()
        write(tmp_path, f"flops.D{device}", *lines)
    last = found(tmp_path)[-1]
    assert (last.place, last.word) == ("device 5", word)
    assert last.smallest > 0.25


def test_more_benchmarks_share_one_error_rate(tmp_path: Path) -> None:
    alone(tmp_path, healthy())
    before = found(tmp_path)[0].smallest
    for number in range(20):
        alone(tmp_path, {("n0", 0): 1.0}, name=f"b{number}")
    assert found(tmp_path)[0].smallest > before


def own_work(folder: Path, slow: int) -> None:
    """A job of 2 ranks on each of 4 nodes, whose steps are equal, one of which works 10 % more."""
    lines = []
    for rank in range(8):
        forward = [6.0 + 0.01 * ((k + rank) % 5) for k in range(COUNT)]
        if rank == slow:
            forward = [ms + 1.0 for ms in forward]
        own = {"forward": forward, "backward": [4.0] * COUNT}
        own["exposed_communication"] = [12 - ms for ms in forward]
        lines.append(steps(rank, [16.0] * COUNT, parts=own))
    values = rates([100.0 + k % 3 for k in range(COUNT)], rank=0)
    settings = job("train", 2, 4, tags=TAGS)
    write(folder, "train.0", settings, start(), values, told(model={"mode": "ddp"}), *lines, end())


@pytest.mark.parametrize("slow", [0, 7])
def test_a_rank_is_judged_by_its_own_work(tmp_path: Path, slow: int) -> None:
    own_work(tmp_path, slow)
    failed = [each for each in found(tmp_path, "train") if each.word == "fail"]
    assert [(each.node, each.place) for each in failed] == [(f"node {slow // 2}", f"rank {slow}")]
    assert failed[0].median == pytest.approx(1000 / 10.02, rel=0.01)
    assert failed[0].lower == pytest.approx(1 / 11, abs=0.01)


def of_each_node(folder: Path, speeds: Mapping[str, float]) -> None:
    for node, speed in speeds.items():
        plan = {"method": "njobs", "n": 1, "each": "node"}
        settings = job("ring", 2, tag=["ring", "0", node], tags=TAGS, plan=plan)
        lines = settings, meta(node), start(), series(speed, 0), end()
        write(folder, f"ring.0.{node}", *lines)


@pytest.mark.parametrize("slow", ["n0", "n3"])
def test_a_node_with_a_slow_job_of_its_own_fails(tmp_path: Path, slow: str) -> None:
    of_each_node(tmp_path, {f"n{k}": 90.0 if f"n{k}" == slow else 100.0 for k in range(4)})
    assert failing(tmp_path, "ring") == [(slow, NODE)]
    assert {each.word for each in found(tmp_path, "ring") if each.node != slow} == {"pass"}


def test_a_job_on_a_single_node_is_not_judged(tmp_path: Path) -> None:
    of_each_node(tmp_path, {"n0": 90.0})
    assert found(tmp_path, "ring") == []
