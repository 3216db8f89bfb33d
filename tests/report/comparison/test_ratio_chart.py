import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.cli import main
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_model import (
    ComparedBenchmark,
    ComparedSide,
    Comparison,
    Unit,
)
from milabench_ddp.report.comparison.ratio_chart import comparison_chart
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.comparison.verdicts import RatioVerdict
from tests.support.compared_runs import launched
from tests.support.svg import check_fits, drawn, parsed

NUMBER = st.floats()
VERDICT = st.sampled_from(RatioVerdict)
RATIO = st.tuples(st.text(max_size=30), NUMBER | st.none(), NUMBER, NUMBER, VERDICT)
Found = tuple[str, float | None, float, float, RatioVerdict]


def compared(found: Sequence[Found], within: float = 0.03) -> Comparison:
    benchmarks = [
        ComparedBenchmark(name, verdict, ratio=ratio, interval=(low, high))
        for name, ratio, low, high, verdict in found
    ]
    return Comparison(
        before=ComparedSide("b", (), (5, 5)),
        after=ComparedSide("a", (), (5, 5)),
        counts={},
        regressions=(),
        threshold=None,
        within=within,
        drawn=Unit.LAUNCH,
        history=(),
        differences=(),
        benchmarks=tuple(benchmarks),
        notes=(),
    )


@given(st.lists(RATIO, max_size=8), st.floats(0.001, 1))
def test_any_ratios_can_be_drawn(found: list[Found], within: float) -> None:
    chart = comparison_chart(compared(found, within))
    check_fits(chart.draw(640), 640)
    parsed(chart.svg())


def test_each_verdict_has_a_marker_and_words() -> None:
    chart = comparison_chart(
        compared(
            [
                ("gpt-ddp", 0.93, 0.921, 0.939, RatioVerdict.SLOWER),
                ("resnet50", 0.998, 0.991, 1.005, RatioVerdict.SAME),
                ("bert-ddp", 0.971, 0.921, 1.022, RatioVerdict.CANNOT_TELL),
                ("flops", 1.05, 1.04, 1.06, RatioVerdict.FASTER),
                ("t5-fsdp", None, math.nan, math.nan, RatioVerdict.MISSING),
            ]
        )
    )
    seen = drawn(chart.draw(640))
    assert {"0.930 slower", "0.998 same", "missing"} <= set(seen.texts)
    assert len(seen.paths("marker")) == 4
    (at_one,) = seen.paths("ideal")
    middles = [sum(x for x, _ in path) / len(path) for path in seen.paths("whisker")]
    assert [middle < at_one[0][0] for middle in middles] == [True, True, True, False]
    assert chart.table.rows[0] == ("gpt-ddp", 0.93, 0.921, 0.939, "slower")
    assert chart.description.endswith("1 slower, 1 same, 1 cannot tell, 1 faster, 1 missing.")


def test_a_wide_interval_does_not_hide_the_others() -> None:
    found = [
        ("sure", 1.02, 1.01, 1.03, RatioVerdict.FASTER),
        ("unsure", 1.0, -20.0, 22.0, RatioVerdict.CANNOT_TELL),
    ]
    seen = drawn(comparison_chart(compared(found)).draw(640))
    left, _, right, _ = seen.box()
    sure = seen.paths("whisker")[0]
    assert max(x for x, _ in sure) - min(x for x, _ in sure) > 0.05 * (right - left)
    unsure = seen.paths("whisker")[1]
    assert max(x for x, _ in unsure) - min(x for x, _ in unsure) > 0.7 * (right - left)


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
    slow = next(each for each in found.benchmarks if each.name == "slow")
    assert slow.interval is not None
    assert shown["slow"] == (slow.ratio, *slow.interval, "slower")
    assert shown["slow"][0] == pytest.approx(0.9, abs=0.01)
    assert shown["gone"][-1] == "missing"
    assert {"0.900 slower", "1.000 same", "missing"} <= set(drawn(chart.draw(640)).texts)
    assert main(["compare", "before", "after", "--plots", "made"]) == 0
    assert capsys.readouterr().out.startswith("1 chart in made\n")
    assert "after over before" in Path("made/ratios.svg").read_text()
