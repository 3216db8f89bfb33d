"""What is said of clocks: runs in which a device was slowed down for a known part of the steps."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import Report
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables.monitor_tables import devices
from tests.support.formats import sweep_text
from tests.support.gpu_runs import STEPS, report_on
from tests.support.result_files import end, job, line, sampled, start, timed_rates, write

FREE: dict[str, Any] = {"sm_clock": 1965, "clock_reasons": []}
SECONDS = 100


def slow(reason: str, clock: int = 1580) -> dict[str, Any]:
    return {"sm_clock": clock, "clock_reasons": [reason]}


CAPPED = slow("sw_power_cap")


def job_of(
    folder: Path,
    state: Callable[[int, int], dict[str, Any]],
    speed: Callable[[int], float] = lambda _: 100.0,
    ranks: int = 4,
    idle: float = 0.0,
) -> Report:
    """A job of 100 s; ``state`` of (device, second) and ``speed`` of (second) are planted."""
    told = ""
    for second in range(-3, SECONDS + 3):
        # before and after it no device works
        states = {f"d{k}": slow("gpu_idle", 345) for k in range(ranks)}
        if 0 <= second < SECONDS:
            states = {f"d{k}": state(k, second) for k in range(ranks)}
        told += sampled(1000.5 + second, **states)
    rates = timed_rates(map(speed, range(SECONDS)))
    gpus = {str(k): {"device": k, "clocks_max": {"sm": 1980}} for k in range(ranks)}
    facts = line("meta", {"accelerators": {"arch": "cuda", "gpus": gpus}})
    waits = line("data", {"task": "main", "rank": 0, "device_idle": idle})
    write(folder, "b.0", job("b", ranks), facts, start(), told, rates, waits, end(outcome="ok"))
    return report_of([folder])


def about_clocks(report: Report) -> list[Finding]:
    names = ("throttled", "power_capped", "set_clocks")
    return [found for found in report.findings if found.name in names]


def test_nothing_is_said_of_clocks_that_nothing_held_down(tmp_path: Path) -> None:
    report = job_of(tmp_path, lambda device, second: FREE)
    assert about_clocks(report) == []
    assert "held down" not in report_text(report)


@pytest.mark.parametrize("odd", [0, 3])
def test_the_device_the_share_of_the_steps_and_the_loss_are_told(tmp_path: Path, odd: int) -> None:
    def is_capped(second: int) -> bool:
        return second >= 55  # from then on 45 seconds of 85 steps, which are 41.0 % of all

    report = job_of(
        tmp_path,
        lambda device, second: (
            slow("sw_power_cap") if device == odd and is_capped(second) else FREE
        ),
        lambda second: 85.0 if is_capped(second) else 100.0,
    )
    (found,) = about_clocks(report)
    clocks = "1580 instead of 1965 MHz, -15%"
    capped = f"b: GPU {odd} was power-capped in 41% of the measured steps: {clocks}"
    assert (found.name, found.sentence, found.severity) == ("power_capped", capped, Severity.NOTE)
    assert found.place == f"GPU {odd}"
    (evidence,) = found.evidence["devices"]
    assert evidence["share"] == pytest.approx(45 * 85 / (45 * 85 + 55 * 100), abs=1e-3)
    assert evidence["slower"] == pytest.approx(0.15, abs=2e-3)
    lines = report_text(report, 1000).splitlines()
    header, values = (text.split("|") for text in lines if "|" in text)
    beside = dict(zip(map(str.strip, header), map(str.strip, values), strict=True))
    assert beside["held down by"] == "power 41%"
    assert float(beside["SM MHz"]) == pytest.approx(1965 - 0.45 * (1965 - 1580) / 4, abs=1)


@pytest.mark.parametrize(
    ("reason", "idle", "said"),
    [
        ("sw_power_cap", 0.14, []),  # 20 % of the clocks are
        ("sw_power_cap", 0.29, []),
        ("sw_power_cap", 0.35, ["host_bound"]),
        ("applications_clocks_setting", 0.14, ["host_bound"]),  # it was not faster before either
    ],
)
def test_clocks_that_fell_are_not_idle_devices(
    tmp_path: Path, reason: str, idle: float, said: list[str]
) -> None:
    report = job_of(tmp_path, lambda device, second: slow(reason, 1584), ranks=1, idle=idle)
    assert [each.name for each in report.findings if each.name == "host_bound"] == said


def test_no_loss_is_told_that_may_be_chance(tmp_path: Path) -> None:
    """Steps vary by 3 % whatever the clock; two of a hundred seconds are at a lower one."""
    told = []
    for seed in range(10):
        draw = random.Random(seed)
        report = job_of(
            tmp_path / str(seed),
            lambda device, second: slow("sw_thermal_slowdown") if second in (40, 41) else FREE,
            lambda second, draw=draw: draw.gauss(100.0, 3.0),  # type: ignore[misc]
            ranks=1,
        )
        (found,) = about_clocks(report)
        told.append("MHz, -" in found.sentence)
    assert sum(told) <= 1


@pytest.mark.parametrize(
    ("reasons", "by"),
    [
        (["sw_thermal_slowdown"], "heat"),
        (["hw_slowdown", "hw_thermal_slowdown"], "heat"),
        (
            ["hw_slowdown", "hw_power_brake_slowdown"],
            "the power brake of its server",
        ),
        (["hw_slowdown"], "its hardware"),
    ],
)
def test_a_throttled_device_is_a_warning_that_names_the_cause(
    tmp_path: Path, reasons: list[str], by: str
) -> None:
    state = {"sm_clock": 990, "clock_reasons": reasons}
    report = job_of(tmp_path, lambda device, second: state if device == 1 and second < 2 else FREE)
    (found,) = about_clocks(report)
    assert (found.name, found.severity) == ("throttled", Severity.WARNING)
    in_steps = "in 2% of the measured steps: 990 instead of 1965 MHz"
    assert found.sentence == f"b: GPU 1 was slowed down by {by} {in_steps}"
    assert found.advice


def test_devices_that_are_always_capped_are_compared_with_what_they_can_do(tmp_path: Path) -> None:
    report = job_of(tmp_path, lambda device, second: slow("sw_power_cap", 1600 - device))
    (found,) = about_clocks(report)
    most = "most GPU 3 in 100% of the measured steps: 1597 instead of 1980 MHz"
    assert found.sentence == f"b: 4 GPUs were power-capped, {most}"
    assert found.place == "GPU 3, GPU 2, GPU 1, GPU 0"


def test_clocks_that_were_set_are_noted(tmp_path: Path) -> None:
    report = job_of(
        tmp_path, lambda device, second: slow("applications_clocks_setting", 1410), ranks=1
    )
    (found,) = about_clocks(report)
    predicate = "was held at clocks that were set in 100% of the measured steps"
    assert found.sentence == f"b: GPU 0 {predicate}: 1410 instead of 1980 MHz"


def test_what_is_seen_in_no_measured_step_is_not_told(tmp_path: Path) -> None:
    """Clocks drop as soon as the load ends; the window ends before that."""
    assert about_clocks(job_of(tmp_path, lambda device, second: FREE, ranks=1)) == []


def test_a_cell_of_a_sweep_is_marked(tmp_path: Path) -> None:
    report = job_of(tmp_path, lambda device, second: slow("sw_thermal_slowdown"))
    text = sweep_text(sweep_of(report, "throughput"))
    assert re.search(r"^b +100 \[1\]$", text, re.MULTILINE), text
    assert "\n[1] taken while devices were slowed down by heat\n" in text
    assert "b     1580 [1]" in sweep_text(sweep_of(report, "sm_clock"))


def test_from_the_driver_to_the_report(
    stub: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPU 1 is power-capped from the middle of its steps on."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    capped = f"when {tmp_path / 'changed.1'}"
    stub(f"1 sm_clock 1580 {capped}", f"1 reasons 0x4 {capped}")
    report = report_on(tmp_path, steps=STEPS)
    (found,) = about_clocks(report)
    predicate = r"was power-capped in \d\d% of the measured steps"
    assert re.match(rf"steps: GPU 1 {predicate}: 1580 instead of 1980 MHz", found.sentence)
    (evidence,) = found.evidence["devices"]
    assert 0.3 < evidence["share"] < 0.7
    clocks = {row[1]: row[-3] for row in devices(report.rows).rows}
    assert clocks["0"] == 1980.0
    assert 1580 < clocks["1"] < 1980
