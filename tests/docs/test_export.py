"""The script that ``docs/export.rst`` names runs."""

import subprocess
import sys
from pathlib import Path

from tests.support.result_files import RECORDED

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_example() -> None:
    command = [sys.executable, DOCS / "examples" / "query_runs.py", RECORDED / "schema-1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "  resnet50: 18.4 images/s on 1 devices: ok" in lines
    assert any(line.startswith("  gpt-ddp: rank ") for line in lines)
