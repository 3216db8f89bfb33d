"""Links between devices, from made-up runs whose truth is known."""

import math
from itertools import permutations

import numpy as np
import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.links import between_nodes, kinds_of, least_told, slow_links
from milabench_ddp.report.tables.bandwidth import links, pairs
from tests.support.result_files import config, end, rates, start, told, write


def run_of(folder, *payloads):
    observed = rates([10.0, 10.1, 9.9], units="GB/s")
    write(folder, "pairs", config("pairs"), start(), *payloads, observed, end(0, outcome="ok"))


def pair(sender, receiver, gb_s, *, ways=1, nodes=("n0", "n0"), best=None):
    best = gb_s if best is None else best
    return told(pair={"from": sender, "to": receiver, "ways": ways, "nodes": list(nodes),
                      "gb_s": gb_s, "best_gb_s": best})  # fmt: skip


def every_pair(gb_s, ranks=4):
    for sender in range(ranks):
        for receiver in range(ranks):
            if sender != receiver:
                node = f"n{sender // 2}", f"n{receiver // 2}"
                yield sender, receiver, node, gb_s if node[0] == node[1] else gb_s / 10


def findings(tmp_path):
    found = report_of([tmp_path]).findings
    return [(each.place, each.sentence) for each in found if each.name == "slow_link"]


@pytest.mark.parametrize(("slow", "where"), [((0, 2), "between nodes"), ((3, 1), "between nodes")])
def test_a_slow_link_is_named_among_its_kind(tmp_path, slow, where):
    told_pairs = []
    for sender, receiver, nodes, gb_s in every_pair(100.0):
        speed = gb_s * 0.7 if (sender, receiver) == slow else gb_s
        told_pairs.append(pair(sender, receiver, speed, nodes=nodes))
    run_of(tmp_path, *told_pairs)
    label = f"{slow[0]} -> {slow[1]}"
    assert findings(tmp_path) == [
        (label, f"pairs: ranks {label} exchange 7 GB/s (one way), 30% less than the median of the "
                f"pairs {where} (10)")
    ]  # fmt: skip
    rows = report_of([tmp_path]).rows
    assert [row[1:] for row in links(rows).rows] == [
        ("within a node", "one way", 4, 100.0, "0 -> 1", 100.0),
        ("between nodes", "one way", 8, 10.0, label, 7.0),
    ]
    assert len(pairs(rows).rows) == 12


def test_a_link_that_was_slow_for_a_moment_is_not_named(tmp_path):
    told_pairs = [pair(0, 1, 60.0, best=90.0), pair(1, 0, 81.0)]
    told_pairs += [pair(2, 3, 100.0), pair(3, 2, 100.0)]
    run_of(tmp_path, *told_pairs)
    assert findings(tmp_path) == []


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_what_can_be_told_of_a_link_follows_the_noise_of_its_map(tmp_path, noise):
    """Exactly a link that is slower by as much is told."""
    speeds = np.exp(np.random.default_rng(0).normal(0, noise, (4, 4)))

    def named(lower):
        folder = tmp_path / str(lower)
        run_of(folder, *(
            pair(i, j, speeds[i, j] * (1 - lower * ({i, j} == {1, 2})),
                 nodes=(f"n{i}", f"n{j}"))
            for i, j in permutations(range(4), 2)
        ))  # fmt: skip
        (row,) = report_of([folder]).rows
        return row, [each.nodes for each in slow_links(row)]

    row, found = named(0)
    assert found == []
    least = least_told(between_nodes(row), ("n2", "n1"))
    assert 5 * noise < -math.log(1 - least) < 20 * noise
    assert named(least)[1] == [("n1", "n2")]
    assert named(least / 1.3)[1] == []


def test_a_sample_of_many_pairs_is_no_map(tmp_path):
    """Damaged files may name any ranks: a matrix of them would fill the memory."""
    far = [pair(2 * k, 2 * k + 1, 10.0, nodes=(f"n{2 * k}", f"n{2 * k + 1}")) for k in range(3000)]
    run_of(tmp_path, *far)
    (row,) = report_of([tmp_path]).rows
    assert between_nodes(row) is None
    assert len(kinds_of(row)[0].links) == 3000


def test_a_link_that_is_slow_both_ways_is_told_with_the_slower_one(tmp_path):
    told_pairs = []
    for sender in range(6):
        for receiver in set(range(6)) - {sender}:
            gb_s = {(0, 5): 5.0, (5, 0): 4.0}.get((sender, receiver), 10.0)
            told_pairs.append(pair(sender, receiver, gb_s, nodes=(f"n{sender}", f"n{receiver}")))
    run_of(tmp_path, *told_pairs)
    (row,) = report_of([tmp_path]).rows
    (slow,) = slow_links(row)
    assert (slow.shape, slow.gb_s, slow.others, slow.links[0].label) == (
        "link",
        4.0,
        10.0,
        "5 -> 0",
    )
