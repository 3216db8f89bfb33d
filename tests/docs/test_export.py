"""``docs/export.rst`` has every column of every table, and its example runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from milabench_ddp.report.export import TABLES
from milabench_ddp.results.tables import TableSchema
from tests.support.result_files import RECORDED

DOCS = Path(__file__).resolve().parents[2] / "docs"
BEGIN, END = ".. tables begin\n", ".. tables end\n"


def described(name: str, table: TableSchema) -> Iterator[str]:
    """A section about a table, with a line for each column."""
    yield name
    yield "-" * len(name)
    yield ""
    yield table.meaning
    yield ""
    header = ("column", "type", "unit", "meaning")
    lines = [(f"``{c.name}``", c.kind.__name__, c.unit, c.meaning) for c in table.columns]
    widths = [max(map(len, texts)) for texts in zip(header, *lines, strict=True)]
    rule = "  ".join("=" * width for width in widths)
    yield rule
    for place, texts in enumerate((header, *lines)):
        cells = [text.ljust(width) for text, width in zip(texts, widths, strict=True)]
        yield "  ".join(cells).rstrip()
        if not place:
            yield rule
    yield rule
    yield ""


def test_the_columns_are_those_of_the_tables() -> None:
    path = DOCS / "export.rst"
    head, rest = path.read_text().split(BEGIN)
    _, tail = rest.split(END)
    lines = [line for name, table in TABLES.items() for line in described(name, table)]
    text = head + BEGIN + "\n" + "\n".join(lines) + "\n" + END + tail
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert path.read_text() == text, "stale: UPDATE_GOLDEN=1 pytest writes it"


def test_the_example() -> None:
    command = [sys.executable, DOCS / "examples" / "query_runs.py", RECORDED / "schema-1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "  resnet50: 18.4 images/s on 1 devices: ok" in lines
    assert any(line.startswith("  gpt-ddp: rank ") for line in lines)
