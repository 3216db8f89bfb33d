"""The score of a suite, as a sentence."""

import math
from pathlib import Path

import pytest

from milabench_ddp.report.score import NO_SCORE, BenchmarkScore, Score

BENCHMARKS = tuple(BenchmarkScore(name, "x/s", 1.0, 2.0, math.nan, math.nan) for name in "ab")


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (NO_SCORE, "none: "),
        (Score(1.254), "1.25"),
        (Score(reason="a part of the suite"), "none: a part of the suite"),
        (Score(1.25, baseline=Path("runs/a")), "1.250 of runs/a"),
        (Score(41.911, benchmarks=BENCHMARKS), "41.911, the geometric mean of 2 benchmarks"),
        (
            Score(2.0, benchmarks=BENCHMARKS, half_width=0.01),
            "2.000 ±0.020, the geometric mean of 2 benchmarks",
        ),
        (
            Score(0.98, baseline=Path("r"), half_width=0.004),
            "0.980 ±0.004 of r",
        ),
        (Score(3.5, benchmarks=BENCHMARKS[:1]), "3.5, the geometric mean of 1 benchmark"),
        (
            Score(0.0, failed=("a",), of_others=2.0, per_watt=0.5, benchmarks=BENCHMARKS),
            "0, as a failed; without that 2; for a watt 0.5 (0 of 2 benchmarks)",
        ),
        (
            Score(0.0, baseline=Path("r"), failed=("a",), of_others=0.98, benchmarks=BENCHMARKS),
            "0 of r, as a failed; without that 0.98",
        ),
    ],
)
def test_what_is_told(score: Score, told: str) -> None:
    assert score.told == told
