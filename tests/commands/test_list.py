from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.golden import check_golden
from tests.support.small_suite import listed, write_suite


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_suite()
    return tmp_path


def test_the_table_and_the_reasons(here: Path):
    check_golden("config/list.txt", listed(preset="small", exclude=("resnet50-w4",)))


def test_the_shipped_suites(capsys: pytest.CaptureFixture[str]):
    assert main(["list"]) == 0
    check_golden("commands/list.txt", capsys.readouterr().out)


def test_nothing_would_run(here: Path):
    check_golden("config/list_nothing.txt", listed(select=("multinode",)))


def test_the_command(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["list", "suite.yaml", "--device", "cpu", "--gpus", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("suite.yaml, preset small: 3 of 6 benchmarks would run\n")
