"""Findings about links, from maps whose truth is known."""

from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.link_files import link_map, pair_rows, write_pairs
from tests.support.result_files import end, job, line, rates, start, told, write

NAMES = ("slow_link", "slow_node_links", "slow_switch", "blocking_fabric", "slow_ring")
NODES = 8


def found(folder: Path) -> list[Finding]:
    return [each for each in report_of([folder]).findings if each.name in NAMES]


def one(folder: Path, *maps: np.ndarray) -> Finding:
    write_pairs(folder, maps)
    (finding,) = found(folder)
    return finding


def between(nodes: range | tuple[int, ...], others: bool = True) -> np.ndarray:
    inside = np.isin(np.arange(NODES), nodes)
    return inside[:, None] ^ inside[None] if others else inside[:, None] & inside[None]


def one_way_each(folder: Path, *slow: tuple[int, int]) -> list[Finding]:
    """All pairs of one rank on each of six nodes, one way only, without noise."""
    lines = []
    for first in range(6):
        for second in range(first + 1, 6):
            gb_s = 10.0 if (first, second) in slow else 40.0
            pair = {"from": first, "to": second, "ways": 1, "gb_s": gb_s, "best_gb_s": gb_s}
            lines.append(told(pair={**pair, "nodes": [f"n{first}", f"n{second}"]}))
    values = rates([1.0] * 9, units="GB/s", rank=0)
    about = line("meta", {"node": "n0"})
    write(folder, "pairs.0", job("pairs", 1, 6), about, start(), *lines, values, end())
    return found(folder)


@pytest.mark.parametrize(("node", "way"), [(0, "sends"), (5, "receives")])
def test_a_node_with_slow_links_alone_is_one_finding(tmp_path: Path, node: int, way: str) -> None:
    slow = [(min(node, other), max(node, other)) for other in range(6) if other != node]
    (finding,) = one_way_each(tmp_path, *slow)
    assert finding.sentence == (
        f"pairs: n{node}: all its 5 links between nodes are slow where it {way}: 10 GB/s (one "
        f"way), 75% less than the median (40)"
    )
    assert (finding.nodes, finding.fails, finding.action) == ((f"n{node}",), True, "isolate")


def test_slow_links_of_several_nodes_are_links(tmp_path: Path) -> None:
    found = one_way_each(tmp_path, (0, 1), (0, 2), (4, 5))
    assert [(each.name, each.place, each.nodes) for each in found] == [
        ("slow_link", "0 -> 1", ("n0", "n1")),
        ("slow_link", "0 -> 2", ("n0", "n2")),
        ("slow_link", "4 -> 5", ("n4", "n5")),
    ]
    assert not any(each.fails for each in found)


def test_nothing_is_found_where_nothing_is_slow(tmp_path: Path) -> None:
    write_pairs(tmp_path, [link_map(NODES, seed) for seed in range(4)])
    assert found(tmp_path) == []


def test_a_node_that_is_slow_on_most_places_is_a_node(tmp_path: Path) -> None:
    maps = [link_map(NODES, seed) for seed in range(4)]
    for speeds in maps[1:]:
        speeds[between((7,))] *= 0.5
    finding = one(tmp_path, *maps)
    assert (finding.name, finding.place, finding.nodes) == ("slow_node_links", "n7", ("n7",))
    assert finding.evidence["ranks"] == [29, 30, 31]
    assert finding.evidence["gb_s"] == pytest.approx(20, rel=0.05)
    assert finding.evidence["median_gb_s"] == pytest.approx(40, rel=0.05)
    assert finding.evidence["links"] == 3 * 2 * (NODES - 1)


@pytest.mark.parametrize(("node", "place"), [(0, 3), (7, 0)])
def test_a_node_that_is_slow_on_one_place_has_a_slow_card(
    tmp_path: Path, node: int, place: int
) -> None:
    maps = [link_map(NODES, seed) for seed in range(4)]
    maps[place][node] *= 0.5  # as it sends
    finding = one(tmp_path, *maps)
    rank = 4 * node + place
    assert (finding.name, finding.place) == ("slow_node_links", f"rank {rank} (n{node})")
    assert finding.nodes == (f"n{node}",)
    assert "are slow where it sends: " in finding.sentence
    assert finding.evidence["links"] == NODES - 1


@pytest.mark.parametrize("nodes", [(0, 1), (5, 6, 7)])
@pytest.mark.parametrize("shape", ["across", "within"])
def test_a_group_of_nodes_is_a_switch_and_does_not_fail(
    tmp_path: Path, nodes: tuple[int, ...], shape: str
) -> None:
    maps = [link_map(NODES, seed) for seed in range(2)]
    for speeds in maps:
        speeds[between(nodes, others=shape == "across")] *= 0.6
    write_pairs(tmp_path, maps)
    findings = found(tmp_path)
    names = tuple(f"n{node}" for node in nodes)
    if shape == "within" and len(nodes) == 2:  # one pair
        assert {each.name for each in findings} == {"slow_link"}
        return
    (finding,) = findings
    assert (finding.name, finding.nodes, finding.fails) == ("slow_switch", names, False)
    assert ("the links among" in finding.sentence) == (shape == "within")


def test_what_is_slow_one_way_is_not_named_for_both_ways_again(tmp_path: Path) -> None:
    speeds, both = link_map(NODES), np.triu(link_map(NODES, 1), 1)
    both[both == 0] = np.nan
    speeds[2, 5] *= 0.4
    both[2, 5] *= 0.4
    write_pairs(tmp_path, [speeds], pair_rows(2 * both, schedule="rounds", ways=2))
    assert [(each.name, each.place) for each in found(tmp_path)] == [
        ("slow_link", "2 -> 5"),
    ]


@pytest.mark.parametrize("share", [0.5, 0.89, 0.91, 1.0])
def test_a_fabric_blocks_where_pairs_are_slower_together(tmp_path: Path, share: float) -> None:
    alone = np.full((NODES, NODES), np.nan)
    pairs = [(k, NODES - 1 - k) for k in range(NODES // 2)]
    for first, second in pairs:
        alone[first, second] = alone[second, first] = 40.0
    rounds = np.full((NODES, NODES), 40 * share)
    write_pairs(tmp_path, [rounds], pair_rows(alone, schedule="alone"))
    findings = found(tmp_path)
    assert len(findings) == (share < 0.9)
    for finding in findings:
        assert (finding.name, finding.nodes) == ("blocking_fabric", ())
        assert finding.evidence["share"] == pytest.approx(share)
        assert finding.evidence["alone_gb_s"] == pytest.approx(40 * len(pairs))
        assert finding.evidence["pairs"] == len(pairs)


def test_one_pair_at_a_time_says_nothing_about_the_fabric(tmp_path: Path) -> None:
    alone = link_map(2, 1)
    write_pairs(tmp_path, [0.3 * link_map(2)], pair_rows(alone, schedule="alone"))
    assert found(tmp_path) == []
    report = report_of([tmp_path])
    assert "blocking_fabric" not in [check.finding for check in report.checks]


def test_one_bad_pair_is_no_blocking_fabric(tmp_path: Path) -> None:
    alone = np.full((NODES, NODES), np.nan)
    for k in range(NODES):
        alone[k, NODES - 1 - k] = 40.0
    rounds = np.full((NODES, NODES), 40.0)
    rounds[0, NODES - 1] = rounds[NODES - 1, 0] = 2.0
    write_pairs(tmp_path, [rounds], pair_rows(alone, schedule="alone"))
    assert [each.name for each in found(tmp_path)] == ["slow_link"]


@pytest.mark.parametrize("tags", [[], ["validate"]])
def test_a_validation_tells_of_a_better_order(tmp_path: Path, tags: list[str]) -> None:
    speeds = link_map(NODES)
    speeds[NODES - 1, 0] = 10.0
    write_pairs(tmp_path, [speeds], tags=tags)
    findings = {each.name: each for each in found(tmp_path)}
    assert set(findings) == ({"slow_link", "slow_ring"} if tags else {"slow_link"})
    if tags:
        evidence = findings["slow_ring"].evidence
        assert evidence["gain"] == pytest.approx(3, rel=0.05)
        assert sorted(evidence["order"]) == [f"n{node}" for node in range(NODES)]


def test_a_slow_link_of_a_single_host_is_of_the_node_without_a_name(tmp_path: Path) -> None:
    lines = []
    for sender in range(4):
        for to in {*range(4)} - {sender}:
            gb_s = 40.0 if (sender, to) != (3, 0) else 20.0
            pair = {"from": sender, "to": to, "ways": 1, "gb_s": gb_s, "nodes": ["host", "host"]}
            lines.append(told(pair=pair))
    values = rates([1.0] * 9, units="GB/s", rank=0)
    write(tmp_path, "pairs.0", job("pairs", 4), start(), *lines, values, end())
    (finding,) = found(tmp_path)
    assert (finding.name, finding.place, finding.nodes) == ("slow_link", "3 -> 0", ("",))


@pytest.mark.parametrize(("alone", "advice"), [(12.0, "cable"), (39.0, "routes of flows")])
def test_a_pair_that_is_slow_only_with_others_is_no_bad_cable(
    tmp_path: Path, alone: float, advice: str
) -> None:
    speeds, suspect = link_map(NODES), np.full((NODES, NODES), np.nan)
    speeds[0, NODES - 1] = 10.0
    suspect[0, NODES - 1] = alone
    write_pairs(tmp_path, [speeds], pair_rows(suspect, schedule="suspect"))
    (finding,) = found(tmp_path)
    assert (finding.name, finding.place) == ("slow_link", f"0 -> {NODES - 1}")
    assert finding.evidence["alone_gb_s"] == alone
    assert advice in finding.advice
