"""A coordinator and a membership under test; their open resources are closed after the test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.dispatch.run_context import RunPlan
from tests.support.membership_room import Room
from tests.support.scripted_nodes import CoordinatorRun


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Callable[..., CoordinatorRun]]:
    """Makes coordinators: ``coordinator(plan, nodes=2)``."""
    made: list[CoordinatorRun] = []

    def make(plan: RunPlan, **options: Any) -> CoordinatorRun:
        made.append(CoordinatorRun(tmp_path, plan, **options))
        return made[-1]

    yield make
    for each in made:
        each.requests.close()


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Callable[..., Room]]:
    """Makes rooms with agents that have joined, except for the last ones."""
    made: list[Room] = []

    def make(count: int = 2, missing: int = 0, **options: Any) -> Room:
        it = Room(tmp_path, count, **options)
        made.append(it)
        for agent in it.agents[: count - missing]:
            agent.hello()
        it.hears()
        return it

    yield make
    for each in made:
        each.close()


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Makes a command print a text; returns the file with the arguments of its calls."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(command: str, text: str, code: int = 0) -> Path:
        given, script = tmp_path / f"{command}.argv", tmp_path / command
        script.write_text(
            f"#!/bin/sh\necho \"$@\" >> '{given}'\ncat <<'END'\n{text}\nEND\nexit {code}\n"
        )
        script.chmod(0o755)
        return given

    return make


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the environment of job 7."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    monkeypatch.delenv("MILABENCH_SIGNAL_DELAY", raising=False)
