"""A folder for each test that reads files."""

from pathlib import Path

import pytest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, but for a program: ``main.py`` and ``prog/main.py``."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog").mkdir()
    for name in ("main.py", "prog/main.py"):
        (tmp_path / name).write_text("")
    return tmp_path
