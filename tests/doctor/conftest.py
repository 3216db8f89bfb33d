"""Programs that are found on the PATH, in place of those of the system."""

from collections.abc import Callable
from pathlib import Path

import pytest

Plant = Callable[..., None]


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Writes programs for sh, by their names; what else is on the PATH are sh and its tools."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(**programs: str) -> None:
        for name, text in programs.items():
            program = folder / name.replace("_", "-")
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)

    return make
