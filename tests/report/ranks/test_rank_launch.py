"""Local time: its parts, and its blocks."""

from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.report.ranks.rank_launch import EXPOSED, blocks_of, local_parts, undisturbed
from milabench_ddp.results.records import Record


def trained(mode: object) -> Record:
    record = Record(Path("b.data"))
    record.facts["model"] = {"mode": mode}
    return record


PARTS = {"forward": 1, "backward": 1, "optimizer": 1, "data": 1}


@pytest.mark.parametrize(
    ("mode", "own"),
    [
        ("ddp", ("forward", "optimizer", "data")),
        ("fsdp", ("optimizer", "data")),
        ("hsdp", ("optimizer", "data")),
        ("tp", ("optimizer", "data")),
        ("tp-fsdp", ("optimizer", "data")),
        ("pipeline", ()),
        ("pdp", ()),
        (None, ()),
        ([], ()),
    ],
)
def test_the_parts_that_no_other_rank_makes_longer(mode: object, own: tuple[str, ...]) -> None:
    assert local_parts(trained(mode), PARTS) == own


@pytest.mark.parametrize("mode", ["ddp", "fsdp", "pipeline", None])
def test_where_the_exposed_communication_is_told_all_else_is_local(mode: object) -> None:
    told = (*PARTS, EXPOSED)
    assert local_parts(trained(mode), told) == tuple(PARTS)
    assert local_parts(trained(mode), ["forward_backward", EXPOSED]) == ("forward_backward",)


def test_only_what_was_measured() -> None:
    assert local_parts(trained("ddp"), {"forward_backward": 1, "optimizer": 1}) == ("optimizer",)


@pytest.mark.parametrize(
    ("steps", "blocks"), [(1, 1), (7, 7), (8, 8), (16, 8), (27, 9), (60, 20), (1000, 20)]
)
def test_blocks_have_three_steps_where_there_are_enough(steps: int, blocks: int) -> None:
    found = blocks_of(np.arange(float(steps)))
    each = [block for several in found for block in several.tolist()]
    assert len(each) == blocks
    assert [step for block in each for step in block] == list(range(steps))
    assert {len(block) - steps // blocks for block in each} <= {0, 1}


def test_load_of_half_of_the_steps_leaves_no_trace() -> None:
    assert undisturbed(np.array([10.0, 17.0, 10.0, 18.0, 10.0, 16.0])) == 10.0
