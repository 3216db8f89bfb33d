from collections.abc import Sequence
from pathlib import Path

import pytest

from milabench_ddp.errors import SelectionError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Report, Row
from milabench_ddp.report.order import configured, in_order, selected
from tests.support.result_files import config, end, rates, start, write, write_state

A = Row("a", 0, 1, 1, 5.0, NAN, 0.03, 300.0, 5.0, 1.0, unit="images/s")
B = Row("b", 1, 1, 1, 9.0, NAN, 0.01, NAN, 9.0, 1.0, unit="images/s")
C = Row("c", 0, 1, 1, 7.0, NAN, 0.02, 400.0, 7.0, 1.0, unit="GB/s")


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("name", "abc"),
        ("perf", "cba"),  # by unit, then the fastest first
        ("std", "acb"),
        ("memory", "cab"),  # what is not known comes last
        ("fail", "bca"),
        ("drift", "bca"),  # none is known: as they stood
    ],
)
def test_an_order_that_was_asked_for(key: str, names: str) -> None:
    report = Report(False, (), (B, C, A))
    assert "".join(row.name for row in in_order(report, key).rows) == names


def test_an_order_that_there_is_not() -> None:
    with pytest.raises(SelectionError, match="--sort pref: unknown; did you mean `perf`"):
        in_order(Report(False, (), (A,)), "pref")


def test_the_order_of_the_configuration() -> None:
    assert configured(["c", "z", "a", "y", "b"], ["b", "c", "a"]) == ["b", "c", "a", "y", "z"]


def test_a_report_is_in_the_order_of_the_configuration(tmp_path: Path) -> None:
    for run, names in (("r", "cab"), ("s", "dc")):
        write_state(tmp_path / run, "ok", dict.fromkeys(names, "ok"))
        for name in names:
            ok = end(0, outcome="ok")
            write(tmp_path / run, f"{name}.D0", config(name), start(), rates([1.0] * 5), ok)
    made = report_of([tmp_path / "r", tmp_path / "s"])
    assert [row.name for row in made.rows] == list("cabd")
    compat = report_of([tmp_path / "r"], compat_formulas=True)
    assert [row.name for row in compat.rows] == list("abc")


@pytest.mark.parametrize(
    ("select", "found"), [((), "b gpt"), (["b"], "b"), (["b", "g*"], "b gpt"), (["gpt"], "gpt")]
)
def test_a_benchmark_is_selected_by_name_or_glob(select: Sequence[str], found: str) -> None:
    assert selected(["b", "gpt"], select) == found.split()
