"""A coordinator under test; its open resources are closed after the test."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.dispatch.run_context import RunPlan
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
