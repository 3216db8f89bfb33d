"""Checks steady states and intervals on made-up series of rates, whose answer is known.

    python -m tests.studies.planted_series [--series 200] [--steps 20 60 200] [KIND ...]

Each kind is a way in which rates vary or move; noise is 1 % of the rate. The truth is the rate in
the long run. A rate that falls to the end has two rows: the interval is meant for a rerun of the
same length, which shows the mean of the run ("mean"); the other row has the level at the end, which
the interval also reaches if there is a warning. Columns:

bias     of the mean rate, relative to the truth
held     the share of 95 % intervals that hold the truth
silent   the same, of those without a warning ("it still falls 2.8 %")
shown    the same, of those whose steps show what their truth needs: not of those that stay at one
         of two levels throughout, which is how steady series of another truth look
misled   the share of all series with an interval that misses the truth without a warning
warned   the share of series with a warning
width    the half width of an interval, as a median, relative to the truth
ideal    this width over 1.96 standard deviations of the mean rate over the series
left out the share of observations before the steady state

A series with too few observations has no interval: a dash. Below the table stand the silent
intervals of all kinds together, the kind of which most series mislead, and the kind of which the
fewest silent ones that show it hold the truth.

``planted_launches.py`` has the intervals over several launches.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from milabench_ddp.report.statistics.interval import Series, interval
from milabench_ddp.report.statistics.steady import steady_state
from milabench_ddp.table import Column, Table, text_lines
from tests.studies.planted_kinds import KINDS, Floats, Kind

COLUMNS = (
    Column("kind"),
    Column("steps", "d"),
    Column("bias", "+.2%"),
    Column("held", ".1%"),
    Column("silent", ".1%"),
    Column("shown", ".1%"),
    Column("misled", ".1%"),
    Column("warned", ".1%"),
    Column("width", ".2%"),
    Column("ideal", ".1f"),
    Column("left out", ".0%"),
)


@dataclass(frozen=True)
class Answer:
    """What is said about one series, relative to its truth."""

    bias: float
    held: bool | None  # None: there is no interval
    warned: bool
    width: float
    left_out: float
    is_shown: bool = True

    @property
    def is_silent(self) -> bool:
        """Whether it has an interval and no warning."""
        return self.held is not None and not self.warned

    @property
    def misleads(self) -> bool:
        """Whether it has an interval that misses the truth, and no warning."""
        return self.is_silent and not self.held


def steady_series(seconds: Floats) -> tuple[Series, bool, int]:
    """The steady observations, whether there is a warning, and how many were left out."""
    rates = [1 / float(value) for value in seconds]
    found = steady_state(rates)
    kept = tuple(map(float, seconds[found.start :]))
    series = Series(tuple(rates[found.start :]), kept, found)
    return series, bool(found.problem or found.visits), found.start


def answer(kind: Kind, n: int, seed: int) -> Answer:
    """The answer for one series."""
    planted = kind(np.random.default_rng([seed, n]), n)
    truth = planted.rate
    series, warned, start = steady_series(planted.seconds)
    sure = interval([[series]])
    bias = series.mean / truth - 1
    if sure is None:
        return Answer(bias, None, warned, math.nan, start / n)
    held = sure.low <= truth <= sure.high
    width = (sure.high - sure.low) / 2 / truth
    return Answer(bias, held, warned, width, start / n, planted.is_shown)


def summary(name: str, n: int, answers: Sequence[Answer]) -> tuple[object, ...]:
    """The row of a kind."""
    silent = [each for each in answers if each.is_silent]
    known = [each.held for each in answers if each.held is not None]
    biases = [each.bias for each in answers]
    width = float(np.median([each.width for each in answers]))
    return (
        name,
        n,
        float(np.mean(biases)),
        float(np.mean(known)) if known else None,
        share_held(silent),
        share_held([each for each in silent if each.is_shown]),
        float(np.mean([each.misleads for each in answers])) if known else None,
        float(np.mean([each.warned for each in answers])),
        width if known else None,
        width / 1.96 / float(np.std(biases)) if known else None,
        float(np.mean([each.left_out for each in answers])),
    )


def share_held(answers: Sequence[Answer]) -> float | None:
    """The share of intervals that hold the truth; None without any."""
    return float(np.mean([bool(each.held) for each in answers])) if answers else None


def silent_line(n: int, found: Mapping[str, Sequence[Answer]]) -> str:
    """What the intervals without a warning hold, of all kinds of a length."""
    silent = [each for answers in found.values() for each in answers if each.is_silent]
    if not silent:
        return f"{n} steps: no interval"
    misled = {k: float(np.mean([each.misleads for each in found[k]])) for k in found}
    most = max(misled, key=lambda k: misled[k])
    held = []
    for kind, answers in found.items():
        shown = [each for each in answers if each.is_silent and each.is_shown]
        if shown:
            held.append((share_held(shown), kind, len(shown)))
    least, fewest, count = min(held)
    return (
        f"{n} steps: silent: {len(silent)}, held {share_held(silent):.1%}; misled most: {most}, "
        f"{misled[most]:.1%}; shown, and held least: {fewest}, {least:.1%} of {count}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="a part of its name")
    parser.add_argument("--series", type=int, default=200)
    parser.add_argument("--steps", type=int, nargs="+", default=[20, 60, 200])
    args = parser.parse_args()
    rows = []
    of_length: dict[int, dict[str, list[Answer]]] = {n: {} for n in args.steps}
    for name, kind in KINDS.items():
        if args.kinds and not any(part in name for part in args.kinds):
            continue
        for n in args.steps:
            answers = [answer(kind, n, seed) for seed in range(args.series)]
            rows.append(summary(name, n, answers))
            # of a rate that falls, a rerun shows the mean
            if f"{name}, mean" not in KINDS:
                of_length[n][name] = answers
    print("\n".join(text_lines(Table(COLUMNS, tuple(rows)))))
    print()
    for n, found in of_length.items():
        print(silent_line(n, found))


if __name__ == "__main__":
    main()
