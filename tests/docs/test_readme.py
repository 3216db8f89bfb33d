"""The README shows the truth: a real output of today's program, and commands that exist."""

import os
import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
import record
from docutils.core import publish_doctree

from milabench_ddp.cli import COMMANDS, main

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.rst").read_text()


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The recorded run, by its path from the current folder."""
    shutil.copytree(record.RECORDED, tmp_path / "runs" / "first")
    monkeypatch.chdir(tmp_path)
    return "runs/first"


def test_its_output_is_that_of_the_recorded_run(
    first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", first])
    shown = record.with_report(README, capsys.readouterr().out)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        record.README.write_text(shown)
    assert shown == record.README.read_text(), "stale: UPDATE_GOLDEN=1 pytest writes it"


def test_its_picture_is_that_of_the_recorded_run(first: str) -> None:
    chosen = record.CHART.partition(".")[0]
    assert main(["report", first, "--plots", "charts", "--select", chosen]) == 0
    shown = Path("charts", record.CHART).read_text()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        record.PICTURE.write_text(shown)
    assert shown == record.PICTURE.read_text(), "stale: UPDATE_GOLDEN=1 pytest writes it"
    assert f".. image:: docs/{record.PICTURE.name}" in README


def test_the_recorded_run_is_of_the_suite(first: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", str(REPOSITORY / "config" / "ddp.yaml"), "--device", "cpu"])
    listed = capsys.readouterr().out.split("not run:")[0].splitlines()[3:]
    main(["report", first, "--csv"])
    rows = capsys.readouterr().out.splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [
        line.split()[0] for line in listed if line.strip()
    ]


def test_its_commands_are_those_of_the_program() -> None:
    verbs = set(re.findall(r"^``milabench (\w+)", README, re.MULTILINE))
    assert verbs == set(COMMANDS)


def test_it_is_rst() -> None:
    told = StringIO()
    publish_doctree(README, settings_overrides={"warning_stream": told})
    assert told.getvalue() == ""


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_its_files_exist():
    for name in re.findall(r"``((?:docs|config|tests)/[\w./]+|\w+\.(?:rst|txt))``", README):
        assert (REPOSITORY / name).exists(), name
