from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.place import place
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.records import Record

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
    assert place(Record(Path("b.data"), settings), rank).label == label


def test_a_repeat_is_the_same_place() -> None:
    tags = (["b", "R0", "D1"], ["b", "R1", "D1"])
    first, again = (place(Record(Path("b.data"), {"device": 1, "tag": tag}), 0) for tag in tags)
    assert first == again


def test_a_rank_that_tells_its_node_is_there(tmp_path: Path) -> None:
    record = Record(Path("b.data"), {"tag": ["b", "0"], "num_machines": 2, "devices": [0, 1]})
    record.ranks[1] = Rank(node="node7")
    assert place(record, 1).label == "rank 1 (node7)"
    assert place(record, 3).label == "rank 3 (node 1)"
