from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.ratio_chart import comparison_chart
from milabench_ddp.report.comparison.sides import Side
from tests.support.compared_runs import launched
from tests.support.svg import check_fits, drawn


def test_each_ratio_with_its_interval_and_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    level = [99.0, 100.0, 101.0, 100.2, 99.8]
    launched(Path("before"), {"slow": level, "same": level, "gone": level})
    launched(Path("after"), {"slow": [rate * 0.9 for rate in level], "same": level})
    found = comparison_of(Side.read("before"), Side.read("after"), 0.03)
    chart = comparison_chart(found)
    check_fits(chart.draw(640), 640)
    shown = {row[0]: row[1:] for row in chart.table.rows}
    compared = {each.name: each for each in found.benchmarks}
    slow = compared["slow"]
    assert slow.interval is not None
    assert shown["slow"] == (slow.ratio, *slow.interval, "slower")
    assert shown["slow"][0] == pytest.approx(0.9, abs=0.01)
    assert shown["gone"][-1] == "missing"
    assert {"0.900 slower", "1.000 same", "missing"} <= set(drawn(chart.draw(640)).texts)
    assert main(["compare", "before", "after", "--plots", "made"]) == 0
    assert capsys.readouterr().out.startswith("1 chart in made\n")
    assert "after over before" in Path("made/ratios.svg").read_text()
