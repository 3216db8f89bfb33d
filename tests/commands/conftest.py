"""The real command in a folder of its own, on small suites of small programs."""

from pathlib import Path

import pytest

from tests.support.workplace import Suite, Workplace


@pytest.fixture
def at(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


@pytest.fixture
def suite(at: Workplace) -> Suite:
    """Writes ``suite.yaml`` with a benchmark for each program given by name, and the programs."""

    def make(plan: str = "per_gpu", duration: float = 60, **programs: str) -> str:
        lines = []
        for name, text in programs.items():
            at.write(f"{name}.py", text)
            lines.append(
                f"{name}: {{program: {name}.py, plan: {{method: {plan}}}, "
                f"max_duration: {duration}, weight: 1}}"
            )
        at.write("suite.yaml", "\n".join(lines) + "\n")
        return "suite.yaml"

    return make
