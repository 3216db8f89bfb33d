"""The finding about devices and nodes that the spread of their peers does not explain."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.result_files import config, end, line, rates, start, write


def reported(folder: Path, *slow: tuple[int, int], nodes: int = 4) -> list[Finding]:
    """A validation of nodes with 8 devices, of which these are 10 % slower."""
    for node in range(nodes):
        for device in range(8):
            speed = (100 + (3 * device + node) % 4 / 2) * (0.9 if (node, device) in slow else 1)
            values = rates([speed + 0.1 * (k % 5) for k in range(40)], steps=1)
            tag = ["flops", f"D{device}", f"n{node}"]
            settings = config("flops", device=device, tag=tag, tags=["validate"])
            meta = line("meta", {"node": f"n{node}"})
            write(folder, ".".join(tag), settings, meta, start(), values, end())
    report = report_of([folder])
    (looked,) = (each for each in report.checks if each.finding == "below_peers")
    assert looked.compared == {"flops": nodes * 8 + nodes}
    return [each for each in report.findings if each.name == "below_peers"]


def test_a_healthy_cluster_has_none(tmp_path: Path) -> None:
    assert reported(tmp_path) == []


@pytest.mark.parametrize("place", [(0, 0), (3, 7)])
def test_a_slow_device_fails_its_node(tmp_path: Path, place: tuple[int, int]) -> None:
    (one,) = reported(tmp_path, place)
    assert (one.nodes, one.fails, one.action) == ((f"n{place[0]}",), True, "isolate")
    assert one.place == f"device {place[1]} (n{place[0]})"
    assert one.evidence["lower"] == pytest.approx(0.1, abs=0.01)
    assert one.evidence["value"] < 0.92 * one.evidence["median"]
    assert one.sentence.startswith(f"flops: {one.place} is ")


@pytest.mark.parametrize("node", [0, 3])
def test_of_a_slow_node_the_devices_are_not_named(tmp_path: Path, node: int) -> None:
    (one,) = reported(tmp_path, *((node, device) for device in range(8)))
    assert (one.nodes, one.place) == ((f"n{node}",), f"n{node}")
    assert one.evidence["lower"] == pytest.approx(0.1, abs=0.01)


def test_several_are_found_beside_each_other(tmp_path: Path) -> None:
    found = reported(tmp_path, (0, 1), (0, 5), (2, 3))
    places = {each.place for each in found}
    assert places == {"device 1 (n0)", "device 5 (n0)", "device 3 (n2)"}


@pytest.mark.parametrize("slow", [0, 3])
def test_on_a_single_host_the_node_has_no_name(tmp_path: Path, slow: int) -> None:
    for device in range(4):
        values = rates([100.0 - 20 * (device == slow) + 0.1 * (k % 5) for k in range(40)], steps=1)
        settings = config("flops", device=device, tag=["flops", f"D{device}"], tags=["validate"])
        write(tmp_path, f"flops.D{device}", settings, start(), values, end())
    (one,) = (each for each in report_of([tmp_path]).findings if each.name == "below_peers")
    assert (one.place, one.nodes) == (f"device {slow}", ("",))
