from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.ledger import KINDS, MOST, ledger
from milabench_ddp.report.charts.theme import TEXTURES
from milabench_ddp.report.tables.ledger_table import ITEMS
from milabench_ddp.report.tables.ledger_table import ledger as ledger_table
from tests.golden import check_golden
from tests.support.svg import check_fits, drawn
from tests.support.trained_ranks import trained


def test_each_item_is_as_long_as_its_time(tmp_path: Path) -> None:
    trained(3, noise=0.0, slow={2: {"backward": 1.25}}).write(tmp_path)
    report = report_of([tmp_path])
    (chart,) = ledger(report)
    found = drawn(chart.draw(640))
    left, _, right, bottom = found.box()
    ms = 120 / (right - left)  # the last tick is at 120 ms
    (backward,) = [path for path in found.root.iter("path") if "backward" in path.get("fill", "")
                   and float(path.get("d", "").split()[1].split("h")[0]) < bottom]  # fmt: skip
    widths = [float(word.split("v")[0]) for word in backward.get("d", "").split("h")[1::2]]
    assert [width * ms for width in widths] == pytest.approx(
        [40 + 10 / 3, 40.0, 40.0, 50.0], abs=0.3
    )
    assert "110 ms" in found.texts
    assert chart.table == ledger_table(report.rows)
    assert "backward 43.3" in chart.description


def test_many_ranks_are_those_that_wait_least_and_most(tmp_path: Path) -> None:
    trained(100, 20, noise=0.01, slow={7: {"backward": 1.25}}).write(tmp_path)
    (chart,) = ledger(report_of([tmp_path]))
    drawing = chart.draw(640)
    check_fits(drawing, 640)
    labels = [text for text in drawn(drawing).texts if text.startswith("rank ")]
    assert len(labels) == len(set(labels)) == MOST
    assert "rank 7" in labels
    assert f"Of 100 ranks, {MOST} are drawn" in chart.description
    assert len(chart.table.rows) == 101


def test_each_item_has_a_look_of_its_own() -> None:
    assert set(KINDS) == set(ITEMS.values())
    assert set(KINDS.values()) <= set(TEXTURES)
    # a program tells either both passes or their sum
    assert len(set(KINDS.values())) == len(KINDS) - 1


def test_golden(tmp_path: Path) -> None:
    trained(3, noise=0.0, slow={2: {"backward": 1.25}}).write(tmp_path)
    (chart,) = ledger(report_of([tmp_path]))
    check_golden("report/chart_ledger.svg", chart.svg().replace("><", ">\n<") + "\n")
