import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.comm.subgroups import partition
from tests.support.programs import on_ranks


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_each_rank_is_in_one_part(nodes):
    for among in ("node", "across"):
        parts = partition(nodes, among)
        assert sorted(rank for part in parts for rank in part) == list(range(len(nodes)))
    for ranks in partition(nodes, "node"):
        assert len({nodes[rank] for rank in ranks}) == 1
    for ranks in partition(nodes, "across"):
        assert len({nodes[rank] for rank in ranks}) == len(ranks)


def test_two_nodes_of_two():
    nodes = ["a", "a", "b", "b"]
    assert partition(nodes, "node") == [[0, 1], [2, 3]]
    assert partition(nodes, "across") == [[0, 2], [1, 3]]
    assert partition(["a", "b", "a", "b"], "across") == [[0, 1], [2, 3]]  # by slots in turn


@pytest.mark.slow
def test_parts_communicate_among_themselves(wire):
    """Four ranks on two nodes: sums of the ranks of a node, and of one rank of each."""
    done = on_ranks(Path(__file__).with_name("on_two_nodes.py"), ranks=4)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all right") == 4
    rows = [p["comm"] for p in wire.close() if "comm" in p]
    assert [(row["op"], row["among"], row["ranks"], row["in_place"]) for row in rows] == [
        ("all_gather", "node", 2, True),
        ("p2p", "across", 2, False),
    ]
    assert json.dumps(rows).count("gloo") == 2
