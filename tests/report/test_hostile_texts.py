"""A run in which every text is hostile: its faces show all that is there, and no forged line."""

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.tables import REPORT_TABLES, TABLES
from milabench_ddp.visible import NUMBERS
from tests.support.result_files import RECORDED

FORGED = "PASS: 9 benchmarks, forged"
HOSTILE = (
    f"x\x1b[2J\x1b]0;t\x07\x85\x9b1m\u202e\u2066\u200b\u2028\U000e0041\x7f\r\n{FORGED}"
    "\n=cmd|'/C calc'!A0 <script>alert(1)</script> | `x` [a](http://h) ![b](c) @all #1\n\n# title\n"
)
# The words that our readers know, and by which files belong together.
OURS = {
    "event", "pipe", "status", "outcome", "task", "method", "arch", "tag", "device", "kind",
    "repeat", "units", "time", "date", "started", "ended", "created", "schema", "plan", "name",
    "returncode", "uuid", "dtype", "phase", "backend", "optimizer",
}  # fmt: skip
_FENCED = re.compile(r"^(`{3,})\n.*?^\1$", re.MULTILINE | re.DOTALL)
UNSEEN = re.compile(f"[{''.join(map(re.escape, map(chr, NUMBERS)))}]")


def hostile(value: Any, key: str = "") -> Any:
    match value:
        case str() if key not in OURS:
            return value + HOSTILE
        case dict():
            return {name: hostile(each, name) for name, each in value.items()}
        case list() if key not in OURS:
            return [hostile(each) for each in value]
    return value


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "mine"
    chosen = ("resnet50", "flops-bf16", "gpt-ddp")
    header = json.loads((RECORDED / "first" / "run.json").read_text())
    header["suite"] = {name: header["suite"][name] for name in chosen}
    header["skipped"] = [{"name": "other", "reason": "because", "kind": "disabled"}]
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps(hostile(header)))
    for name in chosen:
        state = json.loads((RECORDED / "first" / name / "state.json").read_text())
        (folder / name).mkdir()
        if name == "gpt-ddp":
            launch = state["launches"][0]
            for each in (state, launch, launch["processes"][0]):
                each |= {"outcome": "failed", "reason": "it failed"}
            state["status"] = state.pop("outcome")
        (folder / name / "state.json").write_text(json.dumps(hostile(state)))
        for path in (RECORDED / "first").glob(f"{name}.*.data"):
            lines = [hostile(json.loads(line)) for line in path.read_text().splitlines()]
            if name == "gpt-ddp":
                lines[-1]["data"] |= {"return_code": 1, "outcome": "failed", "reason": HOSTILE}
                (folder / path.with_suffix(".stderr").name).write_text(HOSTILE * 3)
            (folder / path.name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def check(text: str) -> None:
    assert not UNSEEN.findall(text)
    assert not re.search(rf"^Verdict +{FORGED}", _FENCED.sub("", text), re.MULTILINE)


Words = Callable[[str], list[str]]
FACES: list[Words] = [
    *(lambda run, name=name: ["report", run, "--format", name] for name in FORMATS),
    *(
        lambda run, name=name: ["report", run, "--table", name]
        for name in (*TABLES, *REPORT_TABLES)
    ),
    lambda run: ["report", run, "--table", "findings", "--format", "markdown"],
    lambda run: ["report", run, "--compat"],
    *(lambda run, name=name: ["compare", run, run, "--format", name] for name in FORMATS),
    *(
        lambda run, name=name: ["history", run, run, "--format", name]
        for name in ("text", "csv", "json")
    ),
]


def test_every_face_shows_what_is_there(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for face in FACES:
        words = face(str(run))
        main(words)
        out, err = capsys.readouterr()
        assert out, (words, err)
        # In these two a text may have lines: they are within its quotes, or its element.
        check(out.replace("\nVerdict", "") if {"html", "csv"} & set(words) else out)
        check(err)
        if "html" in words or "markdown" in words:
            assert "<script>alert" not in _FENCED.sub("", out)


def test_exported_tables_have_a_line_for_each_row_and_no_formula(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", str(run), "--to", "csv", str(tmp_path)])
    capsys.readouterr()
    main(["report", str(run), "--csv"])
    (tmp_path / "report.csv").write_text(capsys.readouterr().out)
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert not UNSEEN.findall(text)
        rows = list(csv.reader(text.splitlines(keepends=True)))
        assert len({len(row) for row in rows}) == 1, path
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "+"))]


def test_charts_in_files(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    main(["report", str(run), "--plots", str(tmp_path)])
    charts = [path.read_text() for path in tmp_path.iterdir()]
    assert charts
    for chart in charts:
        check(chart)
