"""Scores of suites whose values are known."""

import math
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.config.schema import SkipKind, SkippedBenchmark
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Report, Row
from milabench_ddp.report.run_info import RunInfo
from milabench_ddp.report.score import Score
from milabench_ddp.report.suite_score import suite_score
from tests.support.devices_that_end import OK, devices
from tests.support.result_files import (
    config,
    end,
    rates,
    sampled,
    start,
    timed_rates,
    write,
    write_state,
)


def suite(folder: Path, speeds: dict[str, float], unit: str = "items/s", **header: Any) -> Path:
    write_state(folder, "ok", dict.fromkeys(speeds, "ok"), **header)
    for name, speed in speeds.items():
        values = rates([speed] * 9, units=unit)
        write(folder, f"{name}.D0", config(name, device=0), start(), values, OK)
    return folder


def score(folder: Path, baseline: Path | None = None, **more: Any) -> Score:
    return report_of([folder], baseline=baseline, **more).score


def test_ratios_have_no_unit(tmp_path: Path) -> None:
    """Twice as fast in one, half as fast in the other is 1, in whatever units."""
    ours = suite(tmp_path / "ours", {"a": 2e6, "b": 0.05})
    base = suite(tmp_path / "base", {"a": 1e6, "b": 0.1})
    assert score(ours, base).value == pytest.approx(1.0)
    assert score(ours, base, weights={"a": 3.0, "b": 1.0}).value == pytest.approx(2**0.5)
    assert score(base, ours, weights={"a": 3.0, "b": 1.0}).value == pytest.approx(2**-0.5)
    assert score(ours, ours).value == 1.0
    single = {"a": 812.51}
    alone = suite(tmp_path / "alone", single), suite(tmp_path / "one", {"a": 1.0})
    assert score(*alone).value == pytest.approx(812.51)  # and not one more
    assert score(alone[0]).value == pytest.approx(812.51)
    assert score(ours).value == pytest.approx((2e6 * 0.05) ** 0.5)


def test_a_dead_device_takes_its_share_once(tmp_path: Path) -> None:
    whole, hurt = (tmp_path / name for name in ("whole", "hurt"))
    for folder, ends, status in ((whole, "." * 8, "ok"), (hurt, "." * 7 + "F", "failed")):
        write_state(folder, status, {"b": status})
        devices(folder, ends, measured=ends)
    assert score(hurt, whole).value == pytest.approx(7 / 8)


@pytest.mark.parametrize("reason", ["not selected by --select", "needs 8 GPUs, but there are 2"])
def test_a_part_of_a_suite_has_none(tmp_path: Path, reason: str) -> None:
    skipped = [
        SkippedBenchmark("c", reason),
        SkippedBenchmark("d", "off (x.yaml:3)", SkipKind.DISABLED),
    ]
    part = suite(tmp_path / "part", {"a": 1.0}, skipped=skipped)
    said = f"only a part of the suite was run, without c (c: {reason})"
    assert score(part, part).reason == said
    disabled = suite(tmp_path / "whole", {"a": 1.0}, skipped=skipped[1:])
    assert score(disabled, disabled).value == 1.0
    assert score(part, part, weights={"a": 1.0}).value == 1.0  # this configuration has no c
    rest = suite(tmp_path / "rest", {"c": 1.0})
    assert report_of([part, rest]).score.value == 1.0  # together they are whole


def test_what_an_override_disables_is_missing(tmp_path: Path) -> None:
    reason = "disabled (--override c.enabled=false)"
    skipped = [SkippedBenchmark("c", reason, SkipKind.LEFT_OUT)]
    assert "without c" in score(suite(tmp_path / "r", {"a": 1.0}, skipped=skipped)).reason


ROW = Row("a", 0, 1, 1, 10.0, 0.0, 0.0, NAN, 10.0, 1.0, unit="items/s")
RUN = RunInfo("r", Path("r"), "ok", preset="full")
SURE = replace(ROW, interval=(9.8, 10.2), launches=5)  # to 2 %
BASE = Report(False, (replace(RUN, path=Path("base")),), (ROW, replace(ROW, name="b")))


@pytest.mark.parametrize(
    ("rows", "run", "base", "reason"),
    [
        ([], RUN, BASE, "nothing was measured"),
        ([replace(ROW, perf=NAN, score=NAN)], RUN, BASE, "nothing was measured"),
        ([ROW], replace(RUN, outcome=None), BASE, "the run has not ended"),
        ([replace(ROW, weight=0.0)], RUN, BASE, "no benchmark has a weight"),
        ([replace(ROW, score=0.0)], RUN, BASE, "every benchmark failed"),
        ([ROW], RUN, BASE, "only one of both runs measured b"),
        (
            [replace(ROW, name=name) for name in "abcdef"],
            RUN,
            BASE,
            "only one of both runs measured c, d, e and 1 more",
        ),
        (
            [ROW, replace(ROW, name="b", unit="tokens/s")],
            RUN,
            BASE,
            "b is in tokens/s, and in the baseline in items/s",
        ),
        (
            [ROW, replace(ROW, name="b")],
            replace(RUN, preset="small"),
            BASE,
            "the baseline has another preset (full and small)",
        ),
    ],
)
def test_why_there_is_none(rows: list[Row], run: RunInfo, base: Report | None, reason: str) -> None:
    made = suite_score(rows, [run], base)
    assert (math.isnan(made.value), made.reason) == (True, reason)


def test_a_benchmark_without_a_weight_does_not_count(tmp_path: Path) -> None:
    idle = replace(ROW, name="c", weight=0.0, score=0.0)
    assert suite_score([ROW, replace(ROW, name="b"), idle], [RUN], BASE).value == 1.0


def test_why_there_is_none_is_told_to_who_asks() -> None:
    rows = [replace(ROW, weight=0.0)]
    assert not suite_score(rows, [RUN]).is_told
    asked = suite_score(rows, [RUN], BASE)
    assert asked.is_told
    assert asked.told == "none: no benchmark has a weight"


def test_what_failed_counts_as_0_and_is_named() -> None:
    """As the mean goes where devices die one after another."""
    rows = [ROW, replace(ROW, name="b", score=NAN), replace(ROW, name="c", score=40.0)]
    known = [replace(ROW, name=name) for name in "abc"]
    base = replace(BASE, rows=tuple(known))
    found = suite_score(rows, [RUN], base)
    assert (found.value, found.failed, found.of_others) == (0.0, ("b",), pytest.approx(2.0))
    assert found.told == "0 of base, as b failed; without that 2"
    dying = [[ROW, replace(ROW, name="b", score=speed)] for speed in (1.0, 1e-3, 0.0)]
    values = [suite_score(each, [RUN]).value for each in dying]
    assert values == sorted(values, reverse=True)
    alone = suite_score(rows, [RUN])
    assert (alone.value, alone.of_others) == (0.0, pytest.approx(20.0))


def test_what_failed_before_its_first_rate_counts_too(tmp_path: Path) -> None:
    baseline = suite(tmp_path / "base", {"a": 100.0, "b": 50.0})
    now = suite(tmp_path / "now", {"a": 90.0})
    write_state(now, "failed", {"a": "ok", "b": "failed"})
    broken = end(1, outcome="failed", reason="it broke")
    write(now, "b.D0", config("b", device=0), start(), broken)
    assert score(now, baseline).told == f"0 of {baseline}, as b failed; without that 0.9"


def test_work_for_a_watt_is_of_what_was_measured(tmp_path: Path) -> None:
    """A device of 300 W that makes 10 units a second; of the other program nothing is known."""
    write_state(tmp_path, "ok", {"a": "ok", "b": "ok"})
    watts = "".join(sampled(1000.0 + k, d0={"power": 300.0}) for k in range(31))
    head = config("a", device=0, devices=[0])
    write(tmp_path, "a.D0", head, start(), timed_rates([10.0] * 30), watts, OK)
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([10.0] * 9), OK)
    found = score(tmp_path)
    assert found.per_watt == pytest.approx(10 / 300)
    assert found.told.endswith("; for a watt 0.03333 (1 of 2 benchmarks)")
    assert score(tmp_path, tmp_path).per_watt == pytest.approx(1.0)


def test_the_interval_is_made_of_those_of_the_benchmarks() -> None:
    rows = [replace(SURE, weight=3.0), replace(SURE, name="b", score=40.0)]
    alone = suite_score(rows, [RUN])
    assert alone.half_width == pytest.approx(math.hypot(3 * 0.02, 0.02) / 4)
    assert [each.error for each in alone.benchmarks] == pytest.approx([0.2, 0.8])
    base = replace(BASE, rows=(SURE, replace(SURE, name="b", interval=(9.6, 10.4), launches=1)))
    both = suite_score(rows, [RUN], base)
    parts = 3 * math.hypot(0.02, 0.02), math.hypot(0.02, 0.04)
    assert both.half_width == pytest.approx(math.hypot(*parts) / 4)
    # for a rate without an interval stands the deviation of its observations
    third = replace(ROW, name="c", std=0.05)
    parts = 3 * 0.02, 0.02, third.weight * 0.05
    several = suite_score([*rows, third], [RUN])
    assert several.half_width == pytest.approx(math.hypot(*parts) / (4 + third.weight))
    assert math.isnan(several.benchmarks[-1].error)
    assert math.isnan(suite_score([*rows, replace(third, std=math.nan)], [RUN]).half_width)
    # what failed counts as 0, which is not sure to a fraction of it
    failed = suite_score([*rows, replace(ROW, name="c", score=0.0)], [RUN])
    assert failed.half_width == pytest.approx(alone.half_width)
