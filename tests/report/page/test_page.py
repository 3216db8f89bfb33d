import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.page import page
from milabench_ddp.report.page.frame import SCRIPT, STYLE
from milabench_ddp.report.page.page import END, report_html
from tests.support.rates import noisy
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    job,
    rates,
    start,
    steps,
    write,
    write_state,
)
from tests.support.troubled_run import FAILED, troubled

FRAME = len(SCRIPT) + len(STYLE)
VOID = {"input", "link", "meta"}  # elements without an end
HOSTILE = "</script><script>alert(1)</script>\u202e"


class Packed(NamedTuple):
    """A section as the page's script unpacks it."""

    body: str
    courses: str


class Page(HTMLParser):
    """A page: its elements, and whether they nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.inside.setdefault(self.open[-1] if self.open else "", []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def ids(self) -> list[str | None]:
        return [attributes["id"] for _, attributes in self.found if "id" in attributes]


def text_of(*runs: Path, **options: Any) -> str:
    return report_html(report_of(runs, **options))


@pytest.fixture(scope="module")
def first() -> str:
    return text_of(RECORDED / "first")


def unpacked(made: str) -> list[Packed]:
    """What the page's script makes of what is packed in the page."""
    found = []
    for one in re.findall(r'<script type="text/plain" id="packed-\d+">([^<]*)<', made):
        parts = zlib.decompress(base64.b64decode(one)).decode().split(END)
        half = len(parts) // 2
        for body, courses in zip(parts[:half], parts[half:], strict=True):
            found.append(Packed(body, courses))
    return found


def test_it_asks_for_nothing_and_runs_its_own_script_alone(first: str) -> None:
    made = Page(first)
    for name, attributes in made.found:
        assert not {"src", "srcset", "style", "action", "onclick", "onload"} & attributes.keys()
        if href := attributes.get("href"):
            assert href.startswith("#") or (name, href) == ("link", "data:,")
    (policy,) = [a["content"] for a in made.all("meta") if "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in str(policy).split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (own,) = re.findall(f"<{tag}>(.*?)</{tag}>", first, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_it_has_all_of_the_report(first: str) -> None:
    report = report_of([RECORDED / "first"])
    made = Page(first)
    sections = {a["data-name"]: str(a["id"]) for a in made.all("details") if "data-name" in a}
    assert list(sections) == [row.name for row in report.rows]
    assert len(made.ids) == len(set(made.ids))
    for found in report.findings:
        assert found.sentence in first.replace("&#x27;", "'").replace("&gt;", ">")
    links = {str(a["href"])[1:] for a in made.all("a")}
    assert set(sections.values()) <= links
    assert {link.partition("--")[0] for link in links if link.startswith("bench")} <= set(made.ids)
    # the verdict and the findings come first
    order = [first.index(f'id="{id}"') for id in ("findings", "benchmarks", "details")]
    assert order == sorted(order)
    assert first.index('class="verdict') < order[0]


def test_failures_are_told_by_their_causes(tmp_path: Path) -> None:
    """Eleven benchmarks failed for two causes: two cards, and a link to what each printed."""
    troubled(tmp_path)
    made = text_of(tmp_path)
    shown = made[made.index('id="findings"') : made.index('id="peers"')]
    cards = shown.split('<div class="finding ')[1:]
    for card, names in zip(cards, ([f"big-{k}" for k in range(8)], list(FAILED)[8:]), strict=False):
        assert card.startswith("error")
        assert re.findall(r'href="#bench-([\w-]+?)--output"', card) == names
    assert "CUDA out of memory" not in "".join(cards[2:])


def test_findings_of_a_kind_are_one_card(tmp_path: Path) -> None:
    troubled(tmp_path)
    made = text_of(tmp_path)
    shown = made[made.index('id="findings"') : made.index('id="peers"')]
    (card,) = [card for card in shown.split('<div class="finding ') if "bench-03: device 2" in card]
    assert "bench-07: device 2" in card
    assert '<details class="alike">' in card


def test_each_chart_has_a_place_with_a_name(first: str) -> None:
    made = Page(first)
    keys = [course["key"] for one in unpacked(first) for course in json.loads(one.courses)]
    figures = made.all("figure")
    assert [f["data-course"] for f in figures if "data-course" in f] == keys
    assert {"rate", "steps"} <= set(keys)
    for figure in figures:
        assert figure["role"] == "figure"
        assert figure.get("aria-label") or figure["aria-labelledby"] in made.ids


def hostile_run(folder: Path) -> Path:
    """Names, units, reasons and output as a hostile program could write them."""
    write_state(folder, "failed", {"a": "ok", "b": "failed"}, preset=HOSTILE)
    values = rates(noisy(60, 0.0, 1), steps=1).replace("items/s", json.dumps(HOSTILE)[1:-1])
    write(folder, "a.0", job(HOSTILE), start(), values, steps(0, [1.0] * 60), end(0))
    failed = end(1, outcome="failed", reason=HOSTILE)
    write(folder, "b.D0", config("b", device=0), start(), failed, stderr=f"{HOSTILE}\n<b>&\n")
    return folder


@pytest.mark.parametrize("is_packed", [False, True])
def test_hostile_text_stays_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_packed: bool
) -> None:
    if is_packed:
        monkeypatch.setattr(page, "PLAIN", 0)
    made = text_of(hostile_run(tmp_path / "run"))
    bodies = [one.body for one in unpacked(made) if one.body]
    assert len(bodies) == 2 * is_packed
    whole = made + "".join(bodies)
    assert "<script>alert" not in whole
    assert "\u202e" not in whole
    assert r"&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;\u202e" in whole
    assert "&lt;b&gt;&amp;" in whole
    assert len(Page(made).all("script")) == 2  # its own, and what is packed
    for body in bodies:
        Page(body)


def test_a_large_page_holds_its_sections_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And shows the same."""
    plain = text_of(RECORDED / "first")
    monkeypatch.setattr(page, "PLAIN", 0)
    packed = text_of(RECORDED / "first")
    shown = re.findall(
        r'<div class="body">(.*?)</div></details>(?=<details id="bench|<script)', plain
    )
    assert [one.body for one in unpacked(packed)] == shown
    assert not any(one.body for one in unpacked(plain))
    assert [one.courses for one in unpacked(packed)] == [one.courses for one in unpacked(plain)]
    assert len(packed) - FRAME < 0.6 * (len(plain) - FRAME)


def test_milabenchs_formulas_and_runs_without_results(tmp_path: Path) -> None:
    compat = text_of(RECORDED / "milabench" / "rijubigo", compat_formulas=True)
    assert "milabench's own: they include warm-up" in compat
    Page(compat)
    failed = end(1, outcome="failed", reason="exit status 1")
    write(tmp_path / "failed", "b.D0", config("b", device=0), start(), failed)
    assert "exit status 1" in text_of(tmp_path / "failed")
    write_state(tmp_path / "empty", "ok", {})
    empty = text_of(tmp_path / "empty")
    assert "Nothing was measured." in empty
    Page(empty)
