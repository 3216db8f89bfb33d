"""The README shows the truth: a real output of today's program, and commands that exist."""

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.options.catalogue import COMMANDS

REPOSITORY = Path(__file__).resolve().parents[1]
README = (REPOSITORY / "README.rst").read_text()


def test_its_output_is_that_of_the_recorded_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    shutil.copytree(REPOSITORY / "tests" / "recorded" / "first", tmp_path / "runs" / "first")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "runs/first"]) == 0
    shown = textwrap.indent(capsys.readouterr().out, "    ")
    assert shown.rstrip() in README


def test_its_table_is_that_of_the_suite(capsys: pytest.CaptureFixture[str], monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    main(["list", "config/ddp.yaml", "--device", "cpu"])
    listed = capsys.readouterr().out.split("not run:")[0].splitlines()[3:]
    names = [line.split()[0] for line in listed if line.strip()]
    table = README[README.index("    benchmark ") :].split("\n\n")[0].splitlines()
    rows = [line.split("|")[0].strip() for line in table if "|" in line]
    assert rows == ["benchmark", *names]


def test_its_commands_are_those_of_the_program():
    verbs = set(re.findall(r"^``milabench (\w+)", README, re.MULTILINE))
    assert verbs == set(COMMANDS)


def test_its_files_exist():
    for name in re.findall(r"``((?:docs|config|tests)/[\w./]+|\w+\.(?:rst|txt))``", README):
        assert (REPOSITORY / name).exists(), name
