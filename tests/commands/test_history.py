"""``milabench history`` as a person calls it."""

import csv
import io
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.cli import main
from tests.golden import check_golden
from tests.support.made_up_history import slowed, waving, write_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 runs of 4 GPUs and two benchmarks: GPU-2 is slow from run 16 on, ``bert`` from 12 on."""
    base = tmp_path_factory.mktemp("base")
    logs = slowed(waving(5, runs=24, devices=4, wave=0.004), 2, 16)
    draw = np.random.default_rng(1)
    for number, row in enumerate(logs, 1):
        flops = {f"GPU-{k}": round(700 * float(np.exp(log)), 2) for k, log in enumerate(row)}
        level = 100 if number < 12 else 94
        bert = {"GPU-0": round(level * (1 + 0.004 * draw.normal()), 3)}
        driver = "550.54" if number < 12 else "560.28"
        facts = {"accelerators": {"driver": driver}}
        write_run(base / "runs", number, {"flops-bf16": flops, "bert": bert}, **facts)
    return base


def test_text(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(runs)
    assert main(["history", "runs"]) == 0
    check_golden("commands/history.txt", capsys.readouterr().out)


def test_lines_are_as_wide_as_the_terminal(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["history", str(runs)]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 60
    assert "than its peers" in " ".join(text.split())


def test_of_few_runs_the_table_has_the_rates_of_the_first_and_of_the_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, rate in enumerate((100.0, 95.0, 90.0), 1):
        write_run(tmp_path, number, {"bert": {"GPU-0": rate}})
    assert main(["history", str(tmp_path)]) == 0
    assert "bert      |    3 |   100 |   90 | items/s" in capsys.readouterr().out


def test_csv_and_json_have_the_same_changes(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", f"{runs}/runs/*", "--csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(["history", str(runs), "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert [(line["benchmark"], line["device"], line["run"]) for line in lines] == [
        ("flops-bf16", "GPU-2", "16"),
        ("bert", "", "12"),
    ]
    for line, change in zip(lines, whole["changes"], strict=True):
        assert float(line["ratio"]) == change["ratio"]
        assert line["name"] == whole["runs"][change["run"] - 1]["name"]
    assert [len(track["run"]) for track in whole["tracks"]] == [24] * 6
    assert whole["alpha"] == 0.05


def test_a_page_has_what_changed_and_a_chart_of_each_series(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["history", str(runs), "--format", "html"]) == 0
    page = unescape(capsys.readouterr().out)
    assert "<h1>24 runs, 2027-01-16 08:00 to 2027-02-08 08:00, 2 benchmarks, 4 devices" in page
    assert "▼ 2 slower" in page
    assert "<li>GPU-2, flops-bf16: 3." in page
    assert "; differs: driver: 550.54 -> 560.28</li>" in page
    titles = re.findall(r"<figcaption[^>]*>([^<]*)", page)
    assert titles == ["flops-bf16: GPU-2", "bert", "flops-bf16"]
    assert page.count("<summary>Show the numbers") == 3


@pytest.mark.parametrize(("select", "code"), [("bert", 1), ("flops*", 1)])
def test_fail_on_slower(
    runs: Path, capsys: pytest.CaptureFixture[str], select: str, code: int
) -> None:
    assert main(["history", str(runs), "--select", select, "--fail-on", "slower"]) == code
    assert main(["history", str(runs), "--fail-on", "slower", "--threshold", "20%"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    "words",
    [["nothing"], ["runs/c*"]],
)
def test_what_cannot_be_is_said(
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(runs)
    assert main(["history", *words]) == 2
    assert capsys.readouterr().err.startswith("milabench: ")
