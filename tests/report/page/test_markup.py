import pytest

from milabench_ddp.report.page.markup import Anchors, Html, joined, tag, text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("</script><b>", "&lt;/script&gt;&lt;b&gt;"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\x1b[31m\x00", r"\u001b[31m\u0000"),
        ("half \ud83d of a pair", r"half \ud83d of a pair"),
        ("two\n\tlines, é 漢 😀", "two\n\tlines, é 漢 😀"),
        (Html("<b>"), "<b>"),
        (3.5, "3.5"),
    ],
)
def test_text(value: object, shown: str) -> None:
    assert text(value) == shown
    text(value).encode()


def test_an_element() -> None:
    made = tag("td", "<", Html("<i>x</i>"), class_="number", data_of='"', hidden=True, id=None)
    assert made == '<td class="number" data-of="&quot;" hidden>&lt;<i>x</i></td>'
    assert tag("input", type="search") == '<input type="search">'
    assert joined([Html("<br>"), Html("&")], " ") == "<br> &"


def test_each_name_has_an_id_of_its_own() -> None:
    anchors = Anchors()
    names = ["a b", "a-b", "a/b", "", "\u202e", "<script>", "a b"]
    ids = [anchors.of(name) for name in names]
    assert ids == ["bench-a-b", "bench-a-b_2", "bench-a-b_3", "bench", "bench_2",
                   "bench-script", "bench-a-b"]  # fmt: skip
    assert not any("--" in id for id in map(Anchors().of, ("a--b", "-a-", "--")))
