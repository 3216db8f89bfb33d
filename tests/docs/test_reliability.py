"""Every row of the fault table names tests that show it, and they exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "reliability.rst").read_text()
COLUMNS = 3
_ROW = re.compile(r"^   \* - (.*?)(?=^   \* - |^\S|\Z)", re.MULTILINE | re.DOTALL)
_TEST = re.compile(r"``((?:tests|perf)/[\w/]+\.py)(?:::(\w+))?``")
# A fault of the soak: `soak: name` or the name of its scene
_SOAK = re.compile(r"soak: ``([\w -]+)``")


def rows() -> list[list[str]]:
    found = []
    for row in _ROW.findall(TEXT):
        cells = re.split(r"^     - ", row, flags=re.MULTILINE)
        found.append([" ".join(cell.split()) for cell in cells])
    return [row for row in found if row[0] != "Fault"]


def test_every_row_is_whole_and_has_a_test() -> None:
    assert len(rows()) > 50
    for row in rows():
        assert len(row) == COLUMNS, row
        assert all(row), row
        assert _TEST.search(row[-1]) or _SOAK.search(row[-1]), row


@pytest.mark.parametrize("path", sorted({path for path, _ in _TEST.findall(TEXT)}))
def test_each_named_test_exists(path: str) -> None:
    tree = ast.parse((ROOT / path).read_text())
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    named = {name for where, name in _TEST.findall(TEXT) if where == path and name}
    assert named <= known, f"{path} has no {named - known}"


def test_each_named_fault_of_the_soak_exists() -> None:
    text = (ROOT / "tests" / "soak" / "faults.py").read_text()
    text += (ROOT / "tests" / "soak" / "scenes.py").read_text()
    for name in _SOAK.findall(TEXT):
        assert f'"{name}":' in text, name
