from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from tests.support.trained_ranks import trained


def test_it_is_told_in_one_sentence(tmp_path: Path) -> None:
    trained(count=400, pauses=20.0).write(tmp_path)
    (found,) = (each for each in report_of([tmp_path]).findings if each.name == "jitter")
    assert found.sentence == (
        "b: every 40 steps (4.1 s) a step takes 20 ms longer (in forward), on ranks 0-3: 1.9% of "
        "the time"
    )
    assert found.place == "ranks 0-3"
    assert found.evidence["steps"] == 40


@pytest.mark.parametrize("pauses", [0.0, 0.3])
def test_what_does_not_matter_is_not_told(tmp_path: Path, pauses: float) -> None:
    trained(count=400, pauses=pauses, noise=0.0001).write(tmp_path)
    assert not [each for each in report_of([tmp_path]).findings if each.name == "jitter"]
