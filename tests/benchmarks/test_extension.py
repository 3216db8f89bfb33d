"""The price of a new benchmark: four files, added to a copy of the repository and run."""

import json

import pytest

from tests.support.package_copy import PackageCopy

PROGRAM = '''
    """Counts numbers."""

    import sys
    import time
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from benchmarks.common.metrics import Emitter

    emitter, began = Emitter.from_environment(), time.perf_counter()
    for step in range(5):
        numbers = sum(1 for _ in range(100_000))
        elapsed = time.perf_counter() - began
        emitter.rate("train", numbers / elapsed, "numbers/s", step=step, elapsed=elapsed)
'''

ENTRY = """
counting:
  inherits: _per_gpu
  program: ../benchmarks/counting/main.py
"""

PAGE = """
    ========
    counting
    ========

    Counts numbers. ::

        numbers/s = numbers / time
"""


@pytest.mark.slow
def test_a_benchmark_is_four_files(package_copy: PackageCopy) -> None:
    package_copy.add_file("benchmarks/counting/main.py", PROGRAM)
    package_copy.add_line("config/everything.yaml", after="include: _defaults.yaml", line=ENTRY)
    package_copy.add_file("docs/programs/counting.rst", PAGE)
    package_copy.add_line(
        "docs/programs/index.rst",
        after=":doc:`flops`",
        line=":doc:`counting`        counting, numbers/s",
    )
    assert len(package_copy.touched) == 4
    here = ("--device", "cpu", "--name", "mine")
    done = package_copy.milabench("run", "everything", "--select", "counting", *here)
    assert done.code == 0, done.err
    report = package_copy.milabench("report", str(package_copy.run()), "--format", "json")
    (row,) = json.loads(report.out)["benchmarks"]
    assert (row["name"], row["unit"]) == ("counting", "numbers/s")
    assert {(process["outcome"], process["observations"]) for process in row["processes"]} == {
        ("ok", 5)
    }
