import math

from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.charts.ratios import Ratio, ratios
from tests.support.svg import check_fits, drawn, parsed

NUMBER = st.floats()
VERDICT = st.sampled_from(["slower", "faster", "same", "cannot tell", "missing", ""])
RATIO = st.builds(Ratio, st.text(max_size=30), NUMBER, NUMBER, NUMBER, VERDICT)


@given(st.lists(RATIO, max_size=8), NUMBER)
def test_any_ratios_can_be_drawn(found: list[Ratio], within: float) -> None:
    chart = ratios(found, within=within)
    check_fits(chart.draw(640), 640)
    parsed(chart.svg())


def test_each_verdict_has_a_marker_and_words() -> None:
    found = [
        Ratio("gpt-ddp", 0.93, 0.921, 0.939, "slower"),
        Ratio("resnet50", 0.998, 0.991, 1.005, "same"),
        Ratio("bert-ddp", 0.971, 0.921, 1.022, "cannot tell"),
        Ratio("flops", 1.05, 1.04, 1.06, "faster"),
        Ratio("t5-fsdp", math.nan, verdict="missing"),
    ]
    chart = ratios(found, within=0.03)
    seen = drawn(chart.draw(640))
    assert {"0.930 slower", "0.998 same", "missing"} <= set(seen.texts)
    assert len(seen.paths("marker")) == 4
    (at_one,) = seen.paths("ideal")
    middles = [sum(x for x, _ in path) / len(path) for path in seen.paths("whisker")]
    assert [middle < at_one[0][0] for middle in middles] == [True, True, True, False]
    assert chart.table.rows[0] == ("gpt-ddp", 0.93, 0.921, 0.939, "slower")
    assert chart.description.endswith("1 slower, 1 same, 1 cannot tell, 1 faster, 1 missing.")


def test_a_wide_interval_does_not_hide_the_others() -> None:
    found = [Ratio("sure", 1.02, 1.01, 1.03, "faster"), Ratio("unsure", 1.0, -20.0, 22.0, "")]
    seen = drawn(ratios(found).draw(640))
    left, _, right, _ = seen.box()
    sure = seen.paths("whisker")[0]
    assert max(x for x, _ in sure) - min(x for x, _ in sure) > 0.05 * (right - left)
    unsure = seen.paths("whisker")[1]
    assert max(x for x, _ in unsure) - min(x for x, _ in unsure) > 0.7 * (right - left)
