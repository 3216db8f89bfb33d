from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.result_files import told
from tests.support.trained_ranks import trained

STEPS = 120  # of about 102 ms


def found(folder: Path, *told_by_ranks: str) -> list[Finding]:
    trained(count=STEPS).write(folder, *told_by_ranks)
    return [each for each in report_of([folder]).findings if each.name == "garbage_collection"]


def collections(rank: int, ms: float, **more: float) -> str:
    return told(rank=rank, garbage_collections={"ms": ms, **more})


def test_the_rank_its_share_and_what_a_freeze_saves(tmp_path: Path) -> None:
    lines = collections(0, 3.0), collections(2, 250.0, full_ms=21.5, frozen_ms=0.2)
    (finding,) = found(tmp_path, *lines)
    assert finding.sentence == (
        "b: Python's garbage collector takes 2.1% of the time of rank 2: a full collection takes "
        "21.5 ms, and 0.2 ms after gc.freeze"
    )
    assert finding.place == "rank 2"


def test_several_ranks(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, *(collections(rank, 100.0 + 10 * rank) for rank in range(4)))
    assert finding.sentence == (
        "b: Python's garbage collector takes up to 1.1% of the time of ranks 0-3"
    )


@pytest.mark.parametrize("ms", [0.0, 40.0])
def test_what_does_not_matter_is_not_told(tmp_path: Path, ms: float) -> None:
    assert found(tmp_path, collections(3, ms)) == []
