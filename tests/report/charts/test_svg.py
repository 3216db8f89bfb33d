import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.render.html import place, text
from milabench_ddp.report.charts.axes import Axis
from milabench_ddp.report.charts.chart import Chart
from milabench_ddp.report.charts.plot import Bar, Bars
from milabench_ddp.report.charts.svg import SIZE, box, line, shortened, text_width
from milabench_ddp.table import Table
from tests.support.svg import parsed

ANY = st.text(st.characters())  # with control characters and lone surrogates


@given(ANY, ANY)
def test_any_text_can_stand_in_a_chart(words: str, name: str) -> None:
    bars = Bars(Axis(words), [Bar(name, mark=1.0, words=words)])
    chart = Chart("rates", name, words, words, name, bars.draw, Table((), ()))
    for svg in (chart.svg(), chart.file()):
        svg.encode()  # as a file
        title, description = parsed(svg).root[:2]
        assert (title.text or "", description.text or "") == (shown(words), shown(name))


def shown(words: str) -> str:
    """The text that a reader of XML finds."""
    return ElementTree.fromstring(f"<g>{text(words)}</g>").text or ""


def test_markup_in_a_name_stays_text() -> None:
    hostile = '</text><script>alert("1")</script>'
    bars = Bars(Axis(hostile), [Bar("a", mark=1.0)])
    chart = Chart("rates", "", "", hostile, "", bars.draw, Table((), ()))
    root = parsed(chart.svg(1200.0)).root
    assert [each.text for each in root if each.tag in ("title", "text")][:1] == [hostile]
    assert hostile in [each.text for each in root.iter("text")]
    assert list(root.iter("script")) == []


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_place(value: float) -> None:
    with pytest.raises(ValueError, match="no place"):
        place(value)
    with pytest.raises(ValueError, match="no place"):
        line([(0.0, value)])


def test_coordinates_are_short() -> None:
    assert [place(v) for v in (0, -0.01, 12, 12.04, 12.06, 1e3)] == [
        "0", "0", "12", "12", "12.1", "1000",
    ]  # fmt: skip
    assert box(1, 2.04, -3, 4) == "M1 2h-3v4h3z"
    assert line([(1, 2), (3.5, 4)]) == "M1 2L3.5 4"
    assert line([]) == ""


@given(ANY, st.floats(20, 500))
def test_a_name_that_is_too_long_keeps_its_ends(words: str, room: float) -> None:
    cut = shortened(words, room)
    assert text_width(cut) <= room or len(cut) == 2
    if cut != words:
        assert "…" in cut
        assert cut[0] == words[0]


def test_a_text_has_the_room_that_it_takes_in_a_wide_font() -> None:
    """Which Chromium measured in DejaVu Sans, at a size of 1000."""
    measured = {"gamma": 3809, "Wm%@—": 4913, "bench-10-fp16": 7321, "lilli": 1389}
    for words, width in measured.items():
        assert width <= text_width(words) * 1000 / SIZE <= 1.1 * width


def test_an_ellipsis_is_in_the_middle() -> None:
    assert shortened("gpt-eager-no_optimization-16", 120) == "gpt-eag…tion-16"
    assert text("a < b & c") == "a &lt; b &amp; c"
