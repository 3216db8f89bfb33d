"""The report as Markdown: what a reviewer reads, in what a forge takes, from hostile runs too."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from milabench_ddp.cli import main
from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.render import markdown
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables.main_table import compact, main_table
from tests.golden import check_golden
from tests.support.formats import report_markdown, sweep_markdown
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    line,
    rates,
    start,
    write,
    write_state,
)
from tests.support.sweep_of_models import make

RENDERER = MarkdownIt("commonmark").enable("table")
HOSTILE = "a|`b`<i>\n</details>\n# *c* @someone"


def cells(text: str) -> list[list[str]]:
    """The cells of the first table, as they are rendered."""
    rows: list[list[str]] = []
    tokens = RENDERER.parse(text)
    for token, after in pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            rows[-1].append("".join(inner.content for inner in after.children or ()))
        elif token.type == "table_close":
            break
    return rows


def test_golden(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(RECORDED)
    main(["report", "schema-1", "--format", "markdown"])
    check_golden("report/schema_1.md", capsys.readouterr().out)


def test_the_table_has_the_cells_of_the_text(tmp_path: Path) -> None:
    report = report_of([RECORDED / "schema-1"])
    table = compact(main_table(report.rows))
    shown = [[c.text(value) for c, value in zip(table.columns, r, strict=True)] for r in table.rows]
    header, *rows = cells(report_markdown(report))
    assert header == [column.name for column in table.columns]
    assert rows == shown


def hostile(folder: Path) -> Path:
    skipped = [SkippedBenchmark(f"s{HOSTILE}", f"no {HOSTILE}")]
    write_state(folder, "failed", {"a": "ok", "b": "failed"}, skipped=skipped, preset=HOSTILE)
    good = config(f"a{HOSTILE}", device=0)
    write(folder, "a.D0", good, start(), rates([9.0] * 5, units=f"x|{HOSTILE}/s"), end())
    error = line("error", {"type": "ValueError", "message": HOSTILE})
    failed = end(1, outcome="failed", reason=HOSTILE)
    write(
        folder, "b.D0", config("b", device=0), start(), error, failed,
        stderr=f"```\n</details>\n````\n{HOSTILE}\n",
    )  # fmt: skip
    return folder


def test_nothing_in_a_run_is_read_as_markdown_or_html(tmp_path: Path) -> None:
    text = report_markdown(report_of([hostile(tmp_path)]))
    html = RENDERER.render(text)
    outside = re.sub("<pre>.*?</pre>", "", html, flags=re.DOTALL)
    for part in ("<i>", "<code>", "<em>", "@someone"):
        assert part not in outside
    assert text.count("\n</details>\n") >= html.count("<details>") == html.count("<summary>")
    body = html[html.index("<pre>") : html.index("</pre>")]
    assert "```\n&lt;/details&gt;\n````" in body
    header, *rows = cells(text)
    assert len({len(row) for row in rows} | {len(header)}) == 1
    assert len(rows) == 2


def test_what_is_too_long_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_of([RECORDED / "schema-1"])
    whole = report_markdown(report)
    assert "Left out" not in whole
    monkeypatch.setattr(markdown, "ROOM", len(whole) - 500)
    text = report_markdown(report)
    assert len(text) < len(whole)
    assert "Left out, because a comment has no room for more: " in text
    monkeypatch.setattr(markdown, "ROOM", 0)
    assert cells(report_markdown(report)) == cells(whole)  # never the main table


def test_many_findings_of_a_kind_are_folded(tmp_path: Path) -> None:
    for k in range(8):
        settings = config(f"b{k}", device=0)
        write(tmp_path, f"b{k}.D0", settings, start(), end(1, outcome="failed", reason="boom"))
    text = report_markdown(report_of([tmp_path]))
    head, details = text.split("<details>", maxsplit=1)
    assert "- **failed** boom, in 8: b0, b1, b2, b3, b4, b5, b6, b7\n" in head
    assert "<summary>All 8 findings failed</summary>" in details
    assert head.startswith("### FAIL: 0 of 8 benchmarks ok, 8 failed")


def test_failures_that_are_alike_are_told_once(tmp_path: Path) -> None:
    for device in range(3):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        failed = end(1, outcome="failed", reason="boom")
        write(tmp_path, f"b.D{device}", settings, start(), failed, stderr="it broke\n")
    text = report_markdown(report_of([tmp_path]))
    assert text.count("it broke") == 1
    assert "<summary>b.D0: failed: boom</summary>" in text
    assert "the same: b.D1, b.D2" in text


def test_a_sweep(tmp_path: Path) -> None:
    report = report_of([make(tmp_path / "run")])
    sweep = sweep_of(report, "throughput")
    text = sweep_markdown(sweep)
    (first, *_) = sweep.blocks
    header, *rows = cells(text)
    assert header[1:] == list(sweep.columns)
    assert len(rows) == len(sweep.blocks[first])


@pytest.mark.parametrize("words", [["--table", "steps"], ["--table", "step_ms"], ["--compat"]])
def test_a_table_alone_and_milabenchs(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = str(RECORDED / "schema-1")
    assert main(["report", run, "--format", "markdown", *words]) == 0
    text = capsys.readouterr().out
    assert text.startswith("### ")
    assert len(cells(text)) > 5
