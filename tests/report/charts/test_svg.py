import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.report.charts.svg import (
    clean,
    element,
    label,
    line,
    number,
    path,
    shortened,
    text,
    text_width,
)

ANY = st.text(st.characters())  # with control characters and lone surrogates


@given(ANY, ANY)
def test_any_text_can_stand_in_an_element_and_in_an_attribute(words: str, name: str) -> None:
    svg = element("g", label(words, 1, 2, name), id=name)
    svg.encode()  # as a file
    found = ElementTree.fromstring(svg)
    # a parser makes spaces of line ends in attributes
    assert found.get("id", "") == clean(name).translate(str.maketrans("\n\t", "  "))
    (inside,) = found
    assert (inside.text or "") == clean(words)


def test_markup_in_a_name_stays_text() -> None:
    hostile = '</text><script>alert("1")</script>'
    (inside,) = ElementTree.fromstring(element("g", label(hostile, 0, 0)))
    assert inside.text == hostile
    assert len(inside) == 0
    assert element("g", id='"><script>') == '<g id="&quot;&gt;&lt;script&gt;"/>'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_has_no_place(value: float) -> None:
    with pytest.raises(ValueError, match="no place"):
        number(value)
    with pytest.raises(ValueError, match="no place"):
        path("M", 0.0, value)


def test_coordinates_are_short() -> None:
    assert [number(v) for v in (0, -0.01, 12, 12.04, 12.06, 1e3)] == [
        "0", "0", "12", "12", "12.1", "1000",
    ]  # fmt: skip
    assert path("M", 1, 2.04, "h", -3, "z") == "M1 2h-3z"
    assert line([(1, 2), (3.5, 4)]) == "M1 2L3.5 4"
    assert line([]) == ""


@given(ANY, st.floats(20, 500))
def test_a_name_that_is_too_long_keeps_its_ends(words: str, room: float) -> None:
    cut = shortened(words, room)
    assert text_width(cut) <= room or len(cut) == 2
    if cut != words:
        assert "…" in cut
        assert cut[0] == words[0]


def test_an_ellipsis_is_in_the_middle() -> None:
    assert shortened("gpt-eager-no_optimization-16", 120) == "gpt-eag…tion-16"
    assert text("a < b & c") == "a &lt; b &amp; c"
