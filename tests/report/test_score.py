"""Scores whose values are known."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.schema import SkipKind, SkippedBenchmark
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import NAN, Report, Row, Score
from milabench_ddp.report.process import ProcessResult
from milabench_ddp.report.run_info import RunInfo
from milabench_ddp.report.score import machine_rate, suite_score
from milabench_ddp.results.read_run import read_run
from tests.support.result_files import config, end, job, rates, start, write, write_state

OK, FAILED = end(0, outcome="ok"), end(1, outcome="failed", reason="exit status 1")
BASELINE_MISSING = "it is relative to a baseline run: name one with --baseline RUN"


def rate_of(folder: Path) -> float:
    run = read_run(folder)
    return machine_rate([ProcessResult(run, record) for record in run.records])


def devices(folder: Path, ends: str, *, measured: str = "", name: str = "b") -> Path:
    """A process for each letter of ``ends``, ``.`` or ``F``, at 10 items/s.

    Args:
        folder: the run.
        ends: ``.`` for a process that ended ok, ``F`` for one that failed.
        measured: the same, for whether it measured something; by default, all did.
        name: of the benchmark.
    """
    for device, how in enumerate(ends):
        settings = config(name, device=device, devices=[device], tag=[name, f"D{device}"])
        values = rates([10.0] * 5) if not measured or measured[device] == "." else ""
        write(folder, f"{name}.D{device}", settings, start(), values, OK if how == "." else FAILED)
    return folder


@pytest.mark.parametrize("measured", ["", "F......."])
@pytest.mark.parametrize("flipped", [1, -1])
def test_a_dead_device_of_eight_counts_once(tmp_path: Path, measured: str, flipped: int) -> None:
    """Whether it died before its first rate or later, and whether it is the first or the last."""
    folder = devices(tmp_path, "F......."[::flipped], measured=measured[::flipped])
    assert rate_of(folder) == 70.0


def test_all_devices_dead_is_zero_and_nothing_measured_is_unknown(tmp_path: Path) -> None:
    assert rate_of(devices(tmp_path / "late", "FF")) == 0.0
    assert math.isnan(rate_of(devices(tmp_path / "early", "FF", measured="FF")))


def test_a_repeat_that_failed_counts_as_zero_in_its_device(tmp_path: Path) -> None:
    for repeat, how in enumerate((OK, OK, OK, FAILED)):
        tag = ["b", f"R{repeat}", "D0"]
        write(tmp_path, ".".join(tag), config("b", device=0, tag=tag), start(), rates([8.0]), how)
    assert rate_of(tmp_path) == 6.0


def test_jobs_are_added_up_and_the_nodes_of_a_job_are_one(tmp_path: Path) -> None:
    for number in ("0", "1"):
        for node, speed in (("n1", rates([10.0] * 5)), ("n2", "")):
            tag = ["b", number, node, *(["nolog"] if node == "n2" else [])]
            settings = job("b", 2, 2, tag=tag, plan={"method": "njobs", "n": 2})
            write(tmp_path, ".".join(tag), settings, start(), speed, OK)
    assert rate_of(tmp_path) == 20.0
    tag = ["b", "1", "n2", "nolog"]
    write(tmp_path, ".".join(tag), job("b", 2, 2, tag=tag), start(), FAILED)
    assert rate_of(tmp_path) == 10.0  # a job with a failed node has failed


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
    assert report_of([part, rest]).score.reason == BASELINE_MISSING  # together they are whole


def test_what_an_override_disables_is_missing(tmp_path: Path) -> None:
    reason = "disabled (--override c.enabled=false)"
    skipped = [SkippedBenchmark("c", reason, SkipKind.LEFT_OUT)]
    assert "without c" in score(suite(tmp_path / "r", {"a": 1.0}, skipped=skipped)).reason


ROW = Row("a", 0, 1, 1, 10.0, 0.0, 0.0, NAN, 10.0, 1.0, unit="items/s")
RUN = RunInfo("r", Path("r"), "ok", preset="full")
BASE = Report(False, (replace(RUN, path=Path("base")),), (ROW, replace(ROW, name="b")))


@pytest.mark.parametrize(
    ("rows", "run", "base", "reason"),
    [
        ([], RUN, BASE, "nothing was measured"),
        ([replace(ROW, perf=NAN, score=NAN)], RUN, BASE, "nothing was measured"),
        ([ROW], replace(RUN, outcome=None), BASE, "the run has not ended"),
        ([replace(ROW, weight=0.0)], RUN, BASE, "no benchmark has a weight"),
        ([replace(ROW, score=0.0)], RUN, BASE, "every benchmark failed"),
        ([ROW, replace(ROW, name="b", score=0.0)], RUN, BASE, "b failed, or measured nothing"),
        ([ROW], RUN, None, BASELINE_MISSING),
        ([ROW], RUN, BASE, "only the baseline measured b"),
        (
            [replace(ROW, name=name) for name in "abcdef"],
            RUN,
            BASE,
            "the baseline did not measure c, d, e and 1 more",
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
