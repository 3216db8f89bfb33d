"""Comparisons of made-up runs, from their folders on."""

from copy import deepcopy
from pathlib import Path

import pytest

from milabench_ddp.errors import PoolingError
from milabench_ddp.render.text import text_of
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.comparison.compare import comparison_of
from milabench_ddp.report.comparison.comparison_faces import comparison_blocks
from milabench_ddp.report.comparison.comparison_model import ComparedBenchmark, Comparison, Unit
from milabench_ddp.report.comparison.sides import Side
from milabench_ddp.report.comparison.verdicts import RatioVerdict
from tests.support.compared_runs import launched
from tests.support.described_runs import META

STEADY = [99.8, 100.1, 100.0, 100.3, 99.9]


def compared(before: Path, after: Path, history: Path | None = None) -> Comparison:
    past = Side.read(str(history)) if history else None
    return comparison_of(Side.read(str(before)), Side.read(str(after)), history=past)


def only(found: Comparison) -> ComparedBenchmark:
    (benchmark,) = found.benchmarks
    return benchmark


def test_the_rates_are_those_of_the_report(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": STEADY})
    after = launched(tmp_path / "b", {"b": [0.9 * rate for rate in STEADY]})
    found = only(compared(before, after))
    rows = [report_of([path]).rows[0] for path in (before, after)]
    assert found.before is not None
    assert found.after is not None
    assert [found.before.perf, found.after.perf] == [row.perf for row in rows]
    assert found.ratio == pytest.approx(rows[1].perf / rows[0].perf)
    assert found.ratio == pytest.approx(0.9)
    assert found.verdict is RatioVerdict.SLOWER
    assert found.interval_holds == "the ratio over launches"


def test_swapping_both_sides_inverts_ratios_and_verdicts(tmp_path: Path) -> None:
    run = launched(tmp_path / "a", {"b": STEADY, "c": STEADY, "d": STEADY})
    rates = {"b": STEADY, "c": [1.2 * rate for rate in STEADY], "d": [20.0, 30.0, 40.0]}
    other = launched(tmp_path / "b", rates)
    there, back = compared(run, other).benchmarks, compared(other, run).benchmarks
    assert [each.verdict for each in there] == ["same", "faster", "slower"]
    assert [each.verdict for each in back] == ["same", "slower", "faster"]
    for one, inverse in zip(there, back, strict=True):
        assert one.ratio is not None
        assert inverse.ratio == pytest.approx(1 / one.ratio)
        assert one.p_value == pytest.approx(inverse.p_value)


def test_a_run_is_the_same_as_itself(tmp_path: Path) -> None:
    run = launched(tmp_path / "a", {"b": STEADY, "c": [99.0, 101.0], "d": [50.0]})
    found = compared(run, run)
    assert [each.ratio for each in found.benchmarks] == [1.0] * 3
    verdicts = [each.verdict for each in found.benchmarks]
    assert set(verdicts) <= {RatioVerdict.SAME, RatioVerdict.CANNOT_TELL}
    assert f"both sides have {run}" in found.notes


def test_one_launch_each_gives_no_verdict_and_says_what_to_run(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": [100.0]})
    after = launched(tmp_path / "b", {"b": [50.0]})
    found = only(compared(before, after))
    assert found.verdict is RatioVerdict.CANNOT_TELL
    assert found.could_have_seen is None
    assert "does not tell how much launches differ: run --repeat 5" in found.reason
    assert found.interval_holds == "the ratio of these launches"


def test_a_history_tells_how_much_runs_differ(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": [100.0]})
    after = launched(tmp_path / "b", {"b": [90.0]})
    for k, rate in enumerate(STEADY):
        launched(tmp_path / "past" / str(k), {"b": [rate]})
    found = compared(before, after, tmp_path / "past")
    assert only(found).verdict is RatioVerdict.SLOWER
    assert found.drawn is Unit.RUN
    assert len(found.history) == 5
    # a history of the compared runs alone tells nothing
    assert only(compared(before, after, before)).verdict is RatioVerdict.CANNOT_TELL


def test_runs_of_a_history_that_differ_are_not_taken_for_noise(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": [100.0]})
    after = launched(tmp_path / "b", {"b": [90.0]})
    faster = deepcopy(META)
    faster["pytorch"]["torch"] = "2.16.0"
    for k, rate in enumerate(STEADY[:3]):
        launched(tmp_path / "past" / f"old{k}", {"b": [rate]})
        launched(tmp_path / "past" / f"new{k}", {"b": [2 * rate]}, meta=faster)
    past = Side.read(str(tmp_path / "past"), pool=True)
    found = only(comparison_of(Side.read(str(before)), Side.read(str(after)), history=past))
    assert found.unit_std == pytest.approx(0.002, rel=0.3)


def test_several_runs_of_several_launches_are_as_many_as_the_runs(tmp_path: Path) -> None:
    """Launches of a run that are alike do not hide that the runs differ."""
    for side, level in (("a", 100.0), ("b", 98.0)):
        for k, of_run in enumerate((0.97, 1.03)):
            rates = [level * of_run * rate / 100 for rate in STEADY]
            launched(tmp_path / side / str(k), {"b": rates})
    found = only(compared(tmp_path / "a", tmp_path / "b"))
    assert found.interval_holds == "the ratio over runs"
    assert found.verdict is RatioVerdict.CANNOT_TELL
    assert found.reason.startswith("fewer than 3 do not tell how much runs differ: compare 5 runs")
    assert found.before is not None
    assert found.before.launches == 10


def test_missing_and_failed_benchmarks_are_differences(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": STEADY, "gone": STEADY, "broken": STEADY})
    failed = {"broken": "CUDA out of memory"}
    after = launched(tmp_path / "b", {"b": STEADY, "new": STEADY}, failed=failed)
    found = {each.name: each for each in compared(before, after).benchmarks}
    assert found["broken"].verdict is RatioVerdict.FAILED
    assert found["broken"].reason == "after: failed: CUDA out of memory"
    assert found["gone"].verdict is RatioVerdict.MISSING
    assert found["gone"].reason == f"after: not in {after}"
    assert found["new"].verdict is RatioVerdict.MISSING
    assert found["new"].reason == f"before: not in {before}"
    assert found["new"].ratio is None
    assert compared(before, after).regressions == ("gone", "broken")  # in the order of the suite
    assert compared(after, before).regressions == ("new",)


def test_a_launch_that_failed_is_told_beside_the_verdict(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": STEADY})
    after = launched(tmp_path / "b", {"b": STEADY})
    data = after / "b.R4.D0.data"
    data.write_text(data.read_text().replace('"outcome": "ok"', '"outcome": "failed"'))
    found = only(compared(before, after))
    assert found.verdict is RatioVerdict.SAME
    assert found.reason.startswith("after: 1 of 5 launches failed")


def test_rates_in_other_units_have_no_ratio(tmp_path: Path) -> None:
    before = launched(tmp_path / "a", {"b": STEADY}, unit="images/s")
    after = launched(tmp_path / "b", {"b": STEADY}, unit="tokens/s")
    found = only(compared(before, after))
    assert found.ratio is None
    assert found.verdict is RatioVerdict.CANNOT_TELL
    assert found.reason == "its rate is in images/s and in tokens/s"
    assert compared(before, after).regressions == ("b",)


def test_runs_of_a_side_that_differ_are_refused(tmp_path: Path) -> None:
    other = deepcopy(META)
    other["accelerators"]["driver"] = "590.1"
    launched(tmp_path / "a" / "one", {"b": STEADY})
    launched(tmp_path / "a" / "two", {"b": STEADY}, meta=other)
    with pytest.raises(PoolingError, match=r"driver: 580.95 \(.*one\), 590.1 \(.*two\)"):
        Side.read(str(tmp_path / "a"))
    assert len(Side.read(str(tmp_path / "a"), pool=True).runs) == 2


DRIFTING = [100.0, 97.0, 94.0, 91.0, 88.0]


def in_turn(folder: Path, name: str, rates: list[float]) -> Path:
    """A run that took turns with another one."""
    return launched(folder / name, {"b": rates}, sides=("before", "after"))


def test_launches_that_took_turns_are_compared_in_pairs(tmp_path: Path) -> None:
    """What drifts is in both of a pair; between runs that did not, it hides a change of 2 %."""
    near = (0.98, 0.981, 0.979, 0.98, 0.9805)
    slower = [rate * ratio for rate, ratio in zip(DRIFTING, near, strict=True)]
    before, after = in_turn(tmp_path, "before", DRIFTING), in_turn(tmp_path, "after", slower)
    found = compared(before, after)
    assert (found.drawn, only(found).verdict) == (Unit.PAIR, RatioVerdict.SLOWER)
    assert only(found).ratio == pytest.approx(0.98, abs=0.001)
    assert only(found).unit_std == pytest.approx(0.0008, abs=0.0003)
    assert only(found).interval_holds == "the ratio over pairs"
    assert found.regressions == ("b",)  # how runs differ is in both
    assert any("took turns" in note for note in found.notes)
    assert not any("one run on each side" in note for note in found.notes)
    assert "if pairs vary independently\n" in text_of(comparison_blocks(found), 200)
    apart = compared(launched(tmp_path / "c", {"b": DRIFTING}), after)
    assert (apart.drawn, only(apart).verdict) == (Unit.LAUNCH, RatioVerdict.CANNOT_TELL)


def test_a_launch_without_its_counterpart_is_in_no_pair(tmp_path: Path) -> None:
    rates = {f"R{k}": rate for k, rate in enumerate(DRIFTING)}
    before = in_turn(tmp_path, "before", DRIFTING)
    after = in_turn(tmp_path, "after", DRIFTING)
    for side, repeat in ((before, "R0"), (after, "R3")):
        del rates[repeat]
        (side / f"b.{repeat}.D0.data").unlink()
    found = only(compared(before, after))
    assert found.ratio == pytest.approx(1.0)
    assert found.interval is not None
    assert found.interval[1] - found.interval[0] < 0.01
    assert [side and side.launches for side in (found.before, found.after)] == [4, 4]
    pairs = Side.read(str(before)).launches("b", Unit.PAIR).keys()
    assert pairs & Side.read(str(after)).launches("b", Unit.PAIR).keys() == rates.keys()


def test_pairs_of_runs_are_not_taken_apart_by_a_history_or_more_runs(tmp_path: Path) -> None:
    before, after = (in_turn(tmp_path, name, STEADY) for name in ("before", "after"))
    past = launched(tmp_path / "past", {"b": STEADY})
    assert compared(before, after).drawn is Unit.PAIR
    assert compared(after, before).drawn is Unit.PAIR
    assert compared(before, after, past).drawn is Unit.LAUNCH
    assert compared(before, before).drawn is Unit.LAUNCH
    assert compared(before, past).drawn is Unit.LAUNCH
