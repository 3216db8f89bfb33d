import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from milabench_ddp.visible import visible
from milabench_ddp.wrapped import pieces, width_of, wrapped

printable = st.text(st.characters(exclude_categories=["C", "Z"]) | st.sampled_from(" ,`"))


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("±5 µs", 5), ("测试", 4), ("e\u0301", 1), ("a🙂", 3)]
)
def test_the_width_on_a_terminal(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("fits", ["  - fits"]),
        ("one two three four", ["  - one two", "    three", "    four"]),
        ("see /a/path/that/is/long now", ["  - see", "    /a/path/that/is/long", "    now"]),
        ("/a/path/that/is/long", ["  - /a/path/that/is/long"]),
        ("set `top -b -n 1` now", ["  - set", "    `top -b -n 1`", "    now"]),
        ("说明文字很长很长", ["  - 说明文字", "    很长很长"]),
        ("two\nlines", ["  - two lines"]),
    ],
)
def test_lines(text: str, lines: list[str]) -> None:
    assert list(wrapped(text, 13, "  - ")) == lines


def test_what_stands_before_the_other_lines() -> None:
    assert list(wrapped("a note of words", 9, "* ", "")) == ["* a note", "of words"]
    assert list(wrapped("abcdefgh ijk", 4, cut=True)) == ["abcd", "efgh", "ijk"]


@given(printable, st.integers(10, 60))
@example("\U000e0100", 10)  # a variation selector, which has no shape of its own
def test_nothing_is_lost_and_no_line_is_too_wide(text: str, width: int) -> None:
    lines = list(wrapped(text, width, "- "))
    assert "".join("".join(lines).split()) == "-" + "".join(visible(text).split())
    for line in lines:
        is_word = " " not in line[2:] or "`" in line
        assert cell_len(line) <= width or is_word
    assert all(cell_len(line) <= width for line in wrapped(text, width, "- ", cut=True))


@given(printable, st.integers(2, 20))
def test_pieces(text: str, width: int) -> None:
    found = pieces(text, width)
    assert "".join(found) == text
    assert all(cell_len(piece) <= width for piece in found)
