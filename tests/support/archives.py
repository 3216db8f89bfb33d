"""What is in the archives of evidence, and tools of a host that tell it."""

import os
import tarfile
from pathlib import Path

import pytest

from milabench_ddp.results.run_dir import RunDir


def archived(run: Path, node: str) -> dict[str, str]:
    """The files of the archive of a node, without its name before theirs."""
    found = {}
    with tarfile.open(RunDir(run).evidence(node)) as archive:
        for member in archive:
            folder, _, name = member.name.partition("/")
            assert folder == node
            file = archive.extractfile(member)
            assert file is not None
            found[name] = file.read().decode()
    return found


def place_tools(folder: Path, monkeypatch: pytest.MonkeyPatch, **tools: str) -> None:
    """Put tools that run these commands of a shell before all others on the PATH."""
    folder.mkdir()
    for tool, command in tools.items():
        path = folder / tool.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{command}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
