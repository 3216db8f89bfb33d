"""The public face for scripts: light to import, and documented."""

import subprocess
import sys

import pytest

from milabench_ddp import report
from milabench_ddp.cli import main
from milabench_ddp.errors import RunDirError
from tests.support.result_files import RECORDED


def test_it_has_the_numbers_of_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    run = RECORDED / "schema-1"
    found = report.load(run)
    assert main(["report", str(run), "--csv"]) == 0
    shown = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    perf = shown[0].index("perf")
    assert {row.benchmark: row.perf for row in found.benchmarks} == {
        cells[0]: float(cells[perf]) for cells in shown[1:]
    }


def test_what_is_no_run() -> None:
    with pytest.raises(RunDirError, match="no run folder"):
        report.load("none")


def test_to_import_it_imports_neither_its_tables_nor_what_is_slow() -> None:
    """Each module of the report imports it."""
    code = "import sys, milabench_ddp.report; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert not {"numpy", "polars", "milabench_ddp.report.export"} & set(loaded)
