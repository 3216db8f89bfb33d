from pathlib import Path

import pytest

from milabench_ddp.config.program import absolute_paths, program_leaf, program_of
from milabench_ddp.config.tree import Table
from tests.support.configuration import only as only_benchmark
from tests.support.configuration import table, write


def absolute(text: str, source: str = "/etc/suite/x.yaml") -> Table:
    return absolute_paths(table(text, source))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("definition: ../benchmarks/flops", "/etc/benchmarks/flops/main.py"),
        ("program: train.py", "/etc/suite/train.py"),
        ("program: /opt/train.py", "/opt/train.py"),
        ("program: ~/train.py", "/home/me/train.py"),
        ("{definition: a, program: b.py}", "/etc/suite/b.py"),
    ],
)
def test_paths_start_from_the_file_that_states_them(
    text: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert program_of(absolute(text)) == Path(path)


def test_nothing_states_a_program() -> None:
    assert program_of(absolute("{}")) is None
    assert program_leaf(absolute("{}")) is None


def test_a_parent_in_another_folder_and_an_override_from_here(here: Path) -> None:
    write("suites/base.yaml", "_t: {program: ../prog/main.py, plan: {method: per_gpu}}")
    text = "include: suites/base.yaml\nb: {inherits: _t}"
    assert only_benchmark(text).program == here / "prog" / "main.py"
    assert only_benchmark(text, overrides=("b.program=main.py",)).program == here / "main.py"
