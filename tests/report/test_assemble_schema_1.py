"""A run folder of the first schema, as an earlier version recorded it, is still reported."""

import shutil
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.golden import check_golden

RECORDED = Path(__file__).parents[1] / "recorded" / "schema-1"


def test_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(RECORDED, tmp_path / "first")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "first"]) == 0
    check_golden("report/schema_1.txt", capsys.readouterr().out)
