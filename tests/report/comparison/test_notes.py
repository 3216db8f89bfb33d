"""What stands below the table of a comparison."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_model import Unit
from milabench_ddp.report.comparison.launch_noise import Variance
from milabench_ddp.report.comparison.notes import what_to_do
from milabench_ddp.report.comparison.ratios import Ratio
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.comparison.verdicts import judge
from tests.support.compared_runs import launched
from tests.support.rates import falling
from tests.support.result_files import config, end, rates, start, write


def said(std: float, unit: Unit) -> str:
    ratio = Ratio(-0.017, math.nan, math.nan, (5, 5), Variance(std**2, 8))
    return what_to_do(ratio, judge([ratio], 0.0, 0.03)[0], unit)


@pytest.mark.parametrize(
    ("std", "unit", "expected"),
    [
        (0.02, Unit.LAUNCH, "run --repeat 14 on each side"),
        (0.02, Unit.RUN, "compare 14 runs on each side"),
        (0.012, Unit.LAUNCH, "run --repeat 10 on each side"),  # no fewer than twice as many
        (0.30, Unit.LAUNCH, "launches differ by 30.0%: 100 on each side are too few"),
    ],
)
def test_what_to_run(std: float, unit: Unit, expected: str) -> None:
    assert said(std, unit) == expected


def test_what_to_run_where_nothing_is_known() -> None:
    single = Ratio(0.0, 0.01, 0.01)
    judged = judge([single], 0.0, 0.03)[0]
    assert what_to_do(single, judged, Unit.LAUNCH) == (
        "one launch each does not tell how much launches differ: run --repeat 5 on each side"
    )
    assert what_to_do(single, judged, Unit.RUN) == (
        "one run each does not tell how much runs differ: compare 5 runs on each side"
    )


def test_what_only_one_side_is_warned_of(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": [100.0]})
    after = launched(tmp_path / "b", {"b": [100.0]})
    for folder, share in ((before, 0.0), (after, 0.2)):
        seen = rates(falling(60, 1, share))
        write(folder, "b.D0", config("b", device=0), start(), seen, end(0, outcome="ok"))
    notes = comparison_of(Side.read(str(before)), Side.read(str(after))).notes
    (warning,) = (note for note in notes if note.startswith("only"))
    assert warning.startswith("only after: b.D0: its rate still falls")
    swapped = comparison_of(Side.read(str(after)), Side.read(str(before))).notes
    assert any(note.startswith("only before: b.D0: its rate still") for note in swapped)


def test_one_run_on_each_side_does_not_tell_how_much_runs_differ(tmp_path: Path) -> None:
    for side in ("a", "b"):
        for k in range(2):
            launched(tmp_path / side / str(k), {"b": [100.0, 101.0]})
    one = comparison_of(*(Side.read(str(tmp_path / side / "0")) for side in ("a", "b")))
    assert any(note.startswith("one run on each side") for note in one.notes)
    several = comparison_of(*(Side.read(str(tmp_path / side)) for side in ("a", "b")))
    assert not any(note.startswith("one run on each side") for note in several.notes)
