"""Markdown that renders as the text that went in, whatever that is."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from milabench_ddp.marked import code_block, folded, marked, table_lines
from milabench_ddp.table import Column, Measured, Table

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "a|b", "`rm -rf`", "**bold** _it_ ~~gone~~", "<script>alert(1)</script>", "</details>",
    "[link](http://x)", "![x](y)", "&lt; & &amp;", "back\\slash\\", "\\|", "1. one", "12) x",
    "- list", "+ list",
    "###### head", "1.", "-", "41.9", "-3.2 %", "-> do",
    "# head", "=== head", "> quote", "peak_memory", "__init__", "_x_ y", "$x^2$", "a *b",
    "|", "`", "``` x", "x\ty", "<!-- a -->", "http://a.b/c_d_e", "~~~", "***", "---", "100 % ±0.5",
]  # fmt: skip


class _Text(HTMLParser):
    """The text of HTML, and the tags in it."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags = "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.text += "\n" if tag == "br" else ""

    def handle_data(self, data):
        self.text += data


def rendered(markdown: str) -> tuple[str, list[str]]:
    found = _Text()
    found.feed(RENDERER.render(markdown))
    found.close()
    return found.text.replace("\u200b", "").strip(), found.tags


@pytest.mark.parametrize("text", HOSTILE)
def test_no_character_means_anything(text: str) -> None:
    assert rendered(marked(text)) == (text, ["p"])
    assert rendered(f"- {marked(text)}") == (text, ["ul", "li"])
    shown, tags = rendered("\n".join(table_lines(Table((Column("c"),), ((text,), ("z",))))))
    assert shown.split("\n")[:1] == ["c"]
    assert [line for line in shown.split("\n") if line] == ["c", text, "z"]
    assert tags.count("td") == 2
    assert not {"script", "a", "strong", "em", "code", "s", "details"} & set(tags)


ALPHABET = "ab1 .\\`*_{}[]<>()#+-!|~$&@=:\n\té"


@given(st.text(ALPHABET, max_size=30))
def test_any_text_comes_out_as_it_went_in(text: str) -> None:
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    shown, tags = rendered(f"x {marked(text)}")
    assert [" ".join(line.split()) for line in shown.split("\n")] == [
        " ".join(line.split()) for line in ("x " + "\n".join(lines)).split("\n")
    ]
    assert set(tags) <= {"p", "br"}


def test_numbers_stay_readable() -> None:
    for text in ("41.911, the mean", "-3.2 %", "-> more", "+5 ±0.1", "peak_memory"):
        assert marked(text) == text.replace(">", "&gt;")


def test_no_one_is_notified() -> None:
    assert "@alice" not in marked("by @alice in #12")
    assert "#12" not in marked("by @alice in #12")


def test_what_cannot_be_seen_is_shown_by_its_number() -> None:
    assert rendered(marked("a\x1b[31mb\x00\udcff\u202e")) == (
        r"a\u001b[31mb\u0000\udcff\u202e",
        ["p"],
    )


def test_code_cannot_end_its_block() -> None:
    lines = ["```", "</details>", "<b>", "````", "  x | y"]
    block = "\n".join(code_block(lines))
    shown, tags = rendered(block + "\n\nafter")
    assert shown.split("\n") == [*lines, "after"] or shown.split("\n") == [*lines, "", "after"]
    assert tags == ["pre", "code", "p"]


def test_a_table_with_numbers_to_the_right_and_notes() -> None:
    columns = Column("bench"), Column("perf", ".1f"), Column("unit", unknown="")
    rows = (("a", Measured(11100.0, 400.0, with_error=True), "x/s"), ("b", None, None))
    lines = list(table_lines(Table(columns, rows, notes=("(of 2 ranks)",))))
    assert lines == [
        "| bench | perf | unit |",
        "| --- | --: | --- |",
        "| a | 11,100 ±400 | x/s |",
        "| b | - |  |",
        "",
        "(of 2 ranks)",
    ]


def test_what_is_folded_is_still_markdown() -> None:
    shown, tags = rendered("\n".join(folded("_a_ <b>\n\n*", ["| x |", "| --- |", "| y |"])))
    assert "table" in tags
    assert tags[:2] == ["details", "summary"]
    assert shown.startswith("_a_ <b> *")
    assert list(folded("nothing", [])) == []
    assert "@alice" not in "".join(folded("by @alice", ["x"]))
