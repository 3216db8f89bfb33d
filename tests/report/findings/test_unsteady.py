import math
from pathlib import Path

import pytest

from milabench_ddp.codec import write_record
from milabench_ddp.events import Status
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.fields import perf_of
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, Repeats
from tests.support.rates import falling, noisy
from tests.support.result_files import config, end, rate, rates, start, write, write_state


def test_a_rate_that_still_falls_is_told_in_figures(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(falling(60, 1, 0.05)), end())
    write(tmp_path, "b.D1", config("b", device=1), start(), rates([100.0] * 60), end())
    made = report_of([tmp_path])
    (warning,) = (each for each in made.findings if each.name == "no_steady_state")
    assert warning.sentence.startswith("b.D0: its rate still falls by 5.")
    assert warning.sentence.endswith("(in 1 of 2 processes)")
    assert warning.evidence["change"] == made.rows[0].drift
    assert -0.06 < made.rows[0].drift < -0.05


@pytest.mark.parametrize(("sign", "advice"), [(1, "see what slowed it down"), (-1, "let it warm")])
def test_longer_warm_up_is_no_advice_for_what_falls(tmp_path: Path, sign: int, advice: str) -> None:
    values = falling(60, 1, 0.05)[::sign]
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(values), end())
    (warning,) = (each for each in report_of([tmp_path]).findings if each.name == "no_steady_state")
    assert warning.advice.startswith(advice)


def test_what_failed_is_not_told_to_warm_up(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(falling(60, 1, 0.05)), end(1))
    assert {each.name for each in report_of([tmp_path]).findings} == {"failed"}


def test_the_standard_error_is_that_of_the_interval(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(falling(60, 1, 0.05)), end())
    (row,) = report_of([tmp_path]).rows
    assert 1.9 < row.half_width / row.sem < 5  # of a t with few degrees of freedom


def test_time_between_observations_is_told(tmp_path: Path) -> None:
    """200 steps of 20 ms, and three validations of 0.25 s."""
    lines = []
    for k in range(200):
        lines.append(rate(50.0, time=1000 + 0.02 * k + 0.25 * (k // 50), steps=1))
    write(tmp_path, "b.D0", config("b", device=0), start(), *lines, end())
    (note,) = (each for each in report_of([tmp_path]).notes if "between" in each)
    assert note == (
        "b.D0: 15.9% of its time is between the measured steps, and in no rate (0.75 of 4.73 s)"
    )


def test_a_process_that_failed_is_in_no_number_of_its_row(tmp_path: Path) -> None:
    """Its rate falls, as it does before a device fails; that of the others is steady."""
    for device in range(3):
        settings = config("b", device=device, tag=["b", f"D{device}"])
        values, code = (falling(60, 1, 0.3), 1) if device == 1 else ([100.0] * 60, 0)
        write(tmp_path, f"b.D{device}", settings, start(), rates(values), end(code))
    made = report_of([tmp_path])
    assert math.isnan(made.rows[0].drift)
    assert made.warnings == []


def two_levels(seed: int) -> list[float]:
    """Five visits, of 60 observations."""
    high, low = noisy(40, 0.0, seed), noisy(20, 0.0, seed + 1, 92.0)
    return high[:20] + low[:5] + high[20:35] + low[5:] + high[35:]


def test_bimodal_to_two_levels_are_told_in_figures(tmp_path: Path) -> None:
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(two_levels(1)), end())
    write(tmp_path, "b.D1", config("b", device=1), start(), rates(noisy(60, 0.0, 7)), end())
    (warning,) = (each for each in report_of([tmp_path]).findings if each.name == "bimodal")
    assert warning.sentence == (
        "b.D0: its rate changed between two levels only 4 times in 60 rates, too seldom to know "
        "the share of each: ± is unsure (in 1 of 2 processes)"
    )
    assert (warning.place, warning.evidence["worth"]) == ("b.D0", 5)


def test_several_launches_tell_how_unsure_levels_make_them(tmp_path: Path) -> None:
    for repeat in ("R0", "R1"):
        settings = config("b", device=0, tag=["b", repeat, "D0"])
        write(tmp_path, f"b.{repeat}.D0", settings, start(), rates(two_levels(1)), end())
    assert not [each for each in report_of([tmp_path]).findings if each.name == "bimodal"]


def test_a_level_that_is_left_out_is_told(tmp_path: Path) -> None:
    """It may be a start-up, or one of two levels in turn."""
    values = noisy(12, 0.0, 1, 92.0) + noisy(48, 0.0, 2)
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(values), end())
    made = report_of([tmp_path])
    assert made.warnings == [
        "b.D0: the first 12 of its 60 rates, which are left out, are 7.8% slower than the rest"
    ]
    interval = made.rows[0].interval
    assert interval is not None
    assert interval[0] < (12 * 92 + 48 * 100) / 60


def test_benchmarks_with_few_observations_share_a_line(tmp_path: Path) -> None:
    for name, count in (("a", 12), ("b", 59), ("c", 60)):
        write(tmp_path, f"{name}.D0", config(name), start(), rates(noisy(count, 0.0, 1)), end())
    made = report_of([tmp_path])
    assert made.notes == ["no ± for fewer than 60 rates: a 12, b 59"]
    assert [row.interval is None for row in made.rows] == [True, True, False]


@pytest.mark.parametrize("worst", ["D0", "D2"])
def test_the_warning_is_of_the_process_whose_drift_is_shown(tmp_path: Path, worst: str) -> None:
    """One falls by 20 %, the others by 5 %, whichever comes first."""
    for seed, device in enumerate(("D0", "D1", "D2")):
        settings = config("b", device=seed, tag=["b", device])
        values = falling(60, seed, 0.2 if device == worst else 0.05)
        write(tmp_path, f"b.{device}", settings, start(), rates(values), end())
    made = report_of([tmp_path])
    (warning,) = (each for each in made.findings if each.name == "no_steady_state")
    assert warning.place == f"b.{worst}"
    assert f"{abs(made.rows[0].drift):.1%}" in warning.sentence


@pytest.mark.parametrize(
    ("spread", "count", "said"), [(0.2, 60, True), (0.05, 60, False), (0.2, 59, False)]
)
def test_observations_that_vary_are_a_note(
    tmp_path: Path, spread: float, count: int, said: bool
) -> None:
    values = [100.0 * (1 + spread * (-1) ** (k + k // 7)) for k in range(count)]
    write(tmp_path, "b.D0", config("b", device=0), start(), rates(values), end())
    found = [each for each in report_of([tmp_path]).findings if each.name == "unstable"]
    assert [each.severity for each in found] == ["note"] * said
    if found:
        assert found[0].sentence == "b.D0: its rates scatter by 20% around their mean"


def test_of_many_benchmarks_with_few_observations_some_are_named(tmp_path: Path) -> None:
    for number in range(10):
        name = f"b{number}"
        write(tmp_path, f"{name}.D0", config(name, device=0), start(), rates([1.0] * 5), end())
    (note,) = (each for each in report_of([tmp_path]).findings if each.name == "few_observations")
    assert note.sentence.endswith(
        "rates: b0 5, b1 5, b2 5, b3 5, b4 5, b5 5, b6 5, b7 5 and 2 more"
    )
    assert len(note.evidence["observations"]) == 10


def launched(folder: Path, means: list[float], repeats: Repeats) -> None:
    """A run whose launches had these rates."""
    write_state(folder, "ok", {"b": "ok"})
    write_record(RunDir(folder).state_json("b"), BenchmarkState("b", Status.OK, repeats=repeats))
    for number, value in enumerate(means):
        settings = config("b", device=0, tag=["b", f"R{number}", "D0"])
        write(folder, f"b.R{number}.D0", settings, start(), rates([value] * 60), end())


FAR = [100.0, 103.0, 97.0, 101.0, 99.0, 102.0]


def test_launches_that_did_not_make_it_as_sure_as_asked(tmp_path: Path) -> None:
    launched(tmp_path, FAR, Repeats(6, 0.01, 0.0227))
    (found,) = (each for each in report_of([tmp_path]).findings if "until" in each.name)
    assert found.sentence == "b: its rate is known to ±2.3% alone, and --until asked for ±1%"
    assert found.evidence["until"] == 0.01


def test_why_more_launches_would_not_help_is_told(tmp_path: Path) -> None:
    launched(tmp_path, FAR, Repeats(6, 0.01, 0.0227, "it is so"))
    (found,) = (each for each in report_of([tmp_path]).findings if "until" in each.name)
    assert found.sentence.endswith("asked for ±1%: it is so")


@pytest.mark.parametrize("until", [0.01, 0.015, 0.003])
def test_launches_that_made_it_as_sure_as_asked_are_printed_so(
    tmp_path: Path, until: float
) -> None:
    """Their own interval is narrower, which may be the chance that ended the launches."""
    launched(tmp_path, [100.3, 100.4, 100.2] * 2, Repeats(6, until, until))
    made = report_of([tmp_path])
    assert made.rows[0].half_width == pytest.approx(until)
    shown, error = perf_of(made.rows[0]).text(".2f").split(" ±")
    assert 0.96 * until <= float(error) / float(shown) <= until * (1 + 1e-4)
    assert not [each for each in made.findings if "until" in each.name]


def test_two_runs_until_a_width_are_surer_together(tmp_path: Path) -> None:
    for name in ("x", "y"):
        launched(tmp_path / name, [100.0, 100.1, 99.9] * 2, Repeats(6, 0.01, 0.01))
    row = report_of([tmp_path / "x", tmp_path / "y"]).rows[0]
    assert row.half_width == pytest.approx(0.01 / 2**0.5)
