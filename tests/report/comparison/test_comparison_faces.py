"""A comparison as people and programs read it: golden files of made-up runs."""

import csv
import io
import json
from copy import deepcopy
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.render.text import WIDTH
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_faces import FACES
from milabench_ddp.report.comparison.comparison_model import Comparison
from milabench_ddp.report.comparison.sides import Side
from tests.golden import check_golden
from tests.support.compared_runs import launched
from tests.support.described_runs import META


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change into a new folder, so that the text has no path of this machine."""
    monkeypatch.chdir(tmp_path)
    return Path("runs")


def around(level: float, seed: int, std: float = 0.004, count: int = 5) -> list[float]:
    draw = np.random.default_rng(seed)
    return [float(level * (1 + std * x)) for x in draw.standard_normal(count)]


def suites(here: Path) -> Comparison:
    new = deepcopy(META)
    new["pytorch"]["torch"] = "2.16.0+cu132"
    before = {
        "bert-ddp": around(61200, 1, std=0.03),
        "gpt-ddp": around(402000, 2),
        "gpt-fsdp": around(381000, 3),
        "resnet50": around(2993, 4),
        "t5-fsdp": around(14800, 5),
        "vit": around(812.5, 6),
    }
    after = {
        "bert-ddp": around(59400, 11, std=0.03),
        "gpt-ddp": around(374000, 12),
        "gpt-fsdp": around(401000, 13),
        "resnet50": around(2987, 14),
        "flops-bf16": around(748.2, 15),
    }
    failed = {"t5-fsdp": "CUDA out of memory on rank 3"}
    launched(here / "before", before)
    launched(here / "after", after, failed=failed, meta=new)
    return comparison_of(Side.read("runs/before"), Side.read("runs/after"), 0.03)


@pytest.mark.parametrize(
    ("face", "name"), [("text", "comparison.txt"), ("markdown", "comparison.md")]
)
def test_several_launches(here: Path, face: str, name: str) -> None:
    text = FACES[face](suites(here), [])
    check_golden(f"report/{name}", text)
    if face == "text":
        assert max(map(len, text.splitlines())) <= WIDTH


def test_markdown_shows_any_text_as_it_is(here: Path) -> None:
    launched(here / "before", {"a|b": [100.0] * 3, "vit": [50.0] * 3})
    launched(here / "after", {"a|b": [100.0] * 3}, failed={"vit": "boom | <b>\u202e"})
    found = comparison_of(Side.read("runs/before"), Side.read("runs/after"))
    lines = FACES["markdown"](found, []).splitlines()
    assert r"| a\|b | 100.0 | 100.0 |" in "\n".join(lines)
    assert r"- failed: vit: after: failed: boom \| &lt;b&gt;\\u202e" in lines


def test_single_launches(here: Path) -> None:
    names = ("bert-ddp", "gpt-ddp", "resnet50")
    launched(here / "before", {name: [100.0] for name in names})
    launched(here / "after", {name: [93.0] for name in names})
    found = comparison_of(Side.read("runs/before"), Side.read("runs/after"))
    check_golden("report/comparison_single.txt", FACES["text"](found, []))


def test_csv_and_json_have_the_same_numbers_at_full_precision(here: Path) -> None:
    found = suites(here)
    lines = list(csv.DictReader(io.StringIO(FACES["csv"](found, []))))
    whole = json.loads(FACES["json"](found, []))
    assert [line["benchmark"] for line in lines] == [each["name"] for each in whole["benchmarks"]]
    for line, each, value in zip(lines, whole["benchmarks"], found.benchmarks, strict=True):
        assert line["verdict"] == each["verdict"] == value.verdict
        if value.ratio is not None:
            assert float(line["ratio"]) == each["ratio"] == value.ratio
            assert (float(line["low"]), float(line["high"])) == value.interval
            assert tuple(each["interval"]) == value.interval
    assert whole["regressions"] == ["gpt-ddp", "t5-fsdp", "vit"]
    assert sum(whole["counts"].values()) == len(lines)
    assert whole["threshold"] == 0.03


def test_the_page_says_what_the_text_says(here: Path) -> None:
    found = suites(here)
    page = unescape(FACES["html"](found, []))
    for each in found.benchmarks:
        assert f'<th scope="row">{each.name}</th>' in page
    assert "▼ 1 slower" in page
    assert "driver" not in page
    assert "torch: 2.15.0+cu132 -> 2.16.0+cu132" in page
    assert page.count("<figure") == 1
    for sentence in FACES["markdown"](found, []).splitlines():
        if sentence.startswith("- ") and not sentence.startswith("- **"):
            assert f"<li>{sentence[2:]}</li>" in page
