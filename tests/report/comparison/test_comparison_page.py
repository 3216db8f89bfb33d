from pathlib import Path

from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_faces import FACES
from milabench_ddp.report.comparison.comparison_page import rate_charts
from milabench_ddp.report.comparison.sides import Side
from tests.support.compared_runs import launched


def sides_of(folder: Path) -> tuple[Side, Side]:
    """Benchmarks of three launches on each side: one is slower, one the same, one failed."""
    same = [50.0, 50.2, 49.9]
    launched(folder / "before", {"same": same, "slow": [100.0, 101.0, 99.5], "gone": same})
    slower = {"same": same, "slow": [80.0, 81.0, 79.5]}
    launched(folder / "after", slower, failed={"gone": "exit status 1"})
    return Side.read(str(folder / "before")), Side.read(str(folder / "after"))


def test_both_sides_are_in_one_chart_and_what_changed_comes_first(tmp_path: Path) -> None:
    before, after = sides_of(tmp_path)
    charts = list(rate_charts(comparison_of(before, after), before, after))
    assert [chart.subject for chart in charts] == ["slow", "same"]
    medians: dict[str, list[float]] = {}
    for name, *_, middle, _ in charts[0].table.rows:
        medians.setdefault(name, []).append(middle)
    assert medians.keys() == {"before", "after"}
    # of the launch in the middle
    for name, level in (("before", 100.0), ("after", 80.0)):
        assert abs(sum(medians[name]) / len(medians[name]) - level) < 0.4


def test_they_are_on_the_page(tmp_path: Path) -> None:
    sides = sides_of(tmp_path)
    found = comparison_of(*sides)
    assert "slow: rate over time" in FACES["html"](found, sides)
    assert "rate over time" not in FACES["html"](found, [])
