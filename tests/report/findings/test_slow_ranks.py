"""How the slow ranks of a benchmark are looked for; ``test_slow.py`` has what is found."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.findings import slow
from milabench_ddp.report.ranks.rank_summary import RankSummary
from milabench_ddp.report.ranks.stragglers import Straggler, all_stragglers
from tests.support.trained_ranks import trained


def test_stragglers_are_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def counted(ranks: Sequence[RankSummary]) -> list[Straggler]:
        looked.append(ranks)
        return all_stragglers(ranks)

    monkeypatch.setattr(slow, "all_stragglers", counted)
    trained(4).write(tmp_path)
    assert report_of([tmp_path]).rows
    assert len(looked) == 1
