"""A leader under test, and what it leaves behind cleared away."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.results.planfile import RunPlan
from tests.support.scripted_nodes import Led


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Callable[..., Led]]:
    """Makes leaders: ``led(plan, expect=2)``."""
    made: list[Led] = []

    def make(plan: RunPlan, expect: int = 2, **options: Any) -> Led:
        made.append(Led(tmp_path, plan, expect, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
