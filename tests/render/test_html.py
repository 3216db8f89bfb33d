import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from milabench_ddp.hidden import SECRETS
from milabench_ddp.render import html
from milabench_ddp.render.html import TEMPLATES, anchors_of, render, text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("</script><b>", "&lt;/script&gt;&lt;b&gt;"),
        ("a\u202eb\u2066c\u200fd", r"a\u202eb\u2066c\u200fd"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("\x1b[31m\x00", r"\u001b[31m\u0000"),
        ("half \ud83d of a pair", r"half \ud83d of a pair"),
        ("two\n\tlines, é 漢 😀", "two\n\tlines, é 漢 😀"),
        (Markup("<b>"), "<b>"),
        (3.5, "3.5"),
    ],
)
def test_text(value: object, shown: str) -> None:
    assert text(value) == shown
    text(value).encode()


def test_a_template_shows_each_text_safely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an element, in an attribute, through a macro and a captured block."""
    monkeypatch.setattr(html, "TEMPLATES", tmp_path)
    (tmp_path / "macros-here.html").write_text("{% macro it(x) %}<i>{{ x }}</i>{% endmacro %}")
    (tmp_path / "here.html").write_text(
        '{% from "macros-here.html" import it %}\n  <p class="{{ x }}">\n{{ it(x) }}\n'
        "{% set y %}{{ x }}{% endset %}{{ y }}</p>"
    )
    SECRETS.learn_environ({"MY_TOKEN": "s3cret-of-mine-7"})
    shown = "&lt;&quot;\\u202e(hidden: MY_TOKEN)"
    made = render("here.html", x='<"\u202es3cret-of-mine-7')
    assert made == f'<p class="{shown}"><i>{shown}</i>{shown}</p>'
    with pytest.raises(UndefinedError):
        render("here.html")


def test_no_template_goes_past_that() -> None:
    for path in TEMPLATES.iterdir():
        source = path.read_text()
        assert "safe" not in source
        assert "autoescape" not in source
        assert not re.search(r" on\w+=|style=|javascript:", source)


def test_each_name_has_an_id_of_its_own() -> None:
    names = ["a b", "a-b", "a/b", "", "\u202e", "<script>", "a b"]
    ids = anchors_of(names)
    assert [ids[name] for name in names] == [
        "bench-a-b", "bench-a-b_2", "bench-a-b_3", "bench", "bench_2", "bench-script", "bench-a-b",
    ]  # fmt: skip
    assert not any("--" in id for id in anchors_of(["a--b", "-a-", "--"]).values())
