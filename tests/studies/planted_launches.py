"""Checks the 95 % intervals over launches, and ``run --until``, on launches whose truth is known.

    python -m tests.studies.planted_launches [--series 2000] [--tries 4000]

The first table has launches of steps whose noise is 1 %, alike from step to step (AR(1)); launches
differ by 2 %. "over launches" is the share of intervals that hold the mean rate of all launches,
"its launch" that of those which hold what a single launch would go on to show, and "the report
says" what it says of what such an interval holds. ``!`` marks where less than 93 % hold the mean of
all launches, and the report does not say that they do not.

The second table is of launches that are repeated until the interval is narrow. "sd" is their
standard deviation over the half width that is asked for; "held" the share of the printed intervals
that hold the mean; "launches" how many there are in the mean, "fixed" how many would do if the
standard deviation were known. "naive" is the share that would hold if the first interval of 3
launches or more that is narrow enough were printed. ``!`` marks what is held in less than 93 %.
"""

import argparse
import math
from collections.abc import Callable

import numpy as np

from milabench_ddp.report.statistics.batch_means import t_quantile
from milabench_ddp.report.statistics.interval import WITHIN, interval
from milabench_ddp.report.statistics.stopping import is_narrow
from milabench_ddp.table import Column, Table, text_lines
from tests.studies.planted_kinds import Draw, Floats, noise
from tests.studies.planted_series import steady_series

APART = 0.02  # the standard deviation of launches, as a fraction of their mean
NOMINAL = 0.93
CORRELATIONS, STEPS, LAUNCHES = (0.0, 0.5, 0.9), (20, 60, 200), (1, 2, 5)
MOST = 1000  # launches: no limit
RATIOS = (0.1, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
COVERAGE = (
    Column("AR(1)", ".1f"),
    Column("steps", "d"),
    Column("launches", "d"),
    Column("over launches", ".1%"),
    Column("its launch", ".1%"),
    Column("width", ".2%"),
    Column("the report says"),
    Column("", unknown=""),
)
STOPPING = (
    Column("launches differ"),
    Column("sd", ".2f"),
    Column("held", ".1%"),
    Column("launches", ".1f"),
    Column("fixed", "d"),
    Column("naive", ".1%"),
    Column("", unknown=""),
)
Shape = Callable[[Draw, int], Floats]


def normal(draw: Draw, count: int) -> Floats:
    """Differences of launches, whose mean is 0 and standard deviation 1."""
    return draw.standard_normal(count)


def heavy_tails(draw: Draw, count: int) -> Floats:
    """Student's t of 5 degrees of freedom."""
    return draw.standard_t(5, count) / math.sqrt(5 / 3)


def two_clocks(draw: Draw, count: int) -> Floats:
    """Half of the launches at another clock, with some noise."""
    slow = draw.random(count) < 0.5
    return (2.0 * slow - 1.0) * math.sqrt(0.9) + math.sqrt(0.1) * draw.standard_normal(count)


SHAPES: dict[str, Shape] = {
    "normal": normal,
    "heavy tails": heavy_tails,
    "two clocks": two_clocks,
}


def coverage(correlation: float, steps: int, count: int, series: int) -> tuple[object, ...]:
    """The row of launches of so many steps."""
    over, within, widths, says = [], [], [], ""
    for seed in range(series):
        draw = np.random.default_rng([seed, steps, count, round(10 * correlation)])
        rates = 1 / draw.normal(1, APART, count)
        launches = []
        for rate in rates:
            launches.append([steady_series(noise(draw, steps, correlation) / float(rate))[0]])
        sure = interval(launches)
        if sure is None:
            continue
        says = sure.holds
        over.append(sure.low <= 1 <= sure.high)
        within.append(sure.low <= rates[0] <= sure.high)
        widths.append((sure.high - sure.low) / 2)
    held = float(np.mean(over)) if over else None
    its_own = float(np.mean(within)) if count == 1 and within else None
    width = float(np.median(widths)) if widths else None
    misleads = held is not None and held < NOMINAL and says != WITHIN
    says = says or "no interval"
    mark = "!" if misleads else ""
    return correlation, steps, count, held, its_own, width, says, mark


def half_width(values: Floats) -> float:
    """That of Student's 95 % interval of the mean of values."""
    sem = float(values.std(ddof=1)) / math.sqrt(len(values))
    return t_quantile(len(values) - 1) * sem


def launches_until(values: Floats, *, is_naive: bool = False) -> Floats:
    """The first of these launches that ``run --until 1`` makes; naive from 3 on, at the first."""
    total, squares = 0.0, 0.0
    for count, value in enumerate(values, 1):
        total += value
        squares += value * value
        if count < 3:
            continue
        variance = max(squares - total * total / count, 0.0) / (count - 1)
        sem = math.sqrt(variance / count)
        if is_naive and t_quantile(count - 1) * sem <= 1:
            return values[:count]
        if not is_naive and is_narrow(sem, count, 1.0):
            return values[:count]
    return values


def until(name: str, ratio: float, tries: int) -> tuple[object, ...]:
    """The row of launches that differ by ``ratio`` times the half width that is asked for."""
    held, naive, counts = [], [], []
    for seed in range(tries):
        values = ratio * SHAPES[name](np.random.default_rng([seed, round(100 * ratio)]), MOST)
        made = launches_until(values)
        counts.append(len(made))
        held.append(abs(float(made.mean())) <= max(half_width(made), 1.0))
        first = launches_until(values, is_naive=True)
        naive.append(abs(float(first.mean())) <= half_width(first))
    fixed = 2
    while t_quantile(fixed - 1) * ratio / math.sqrt(fixed) > 1:
        fixed += 1
    share = float(np.mean(held))
    mark = "!" if share < NOMINAL else ""
    return name, ratio, share, float(np.mean(counts)), fixed, float(np.mean(naive)), mark


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--series", type=int, default=2000)
    parser.add_argument("--tries", type=int, default=4000)
    args = parser.parse_args()
    rows = []
    for correlation in CORRELATIONS:
        for steps in STEPS:
            for count in LAUNCHES:
                rows.append(coverage(correlation, steps, count, args.series))
    print("\n".join(text_lines(Table(COVERAGE, tuple(rows)))))
    print()
    stops = [until(name, ratio, args.tries) for name in SHAPES for ratio in RATIOS]
    print("\n".join(text_lines(Table(STOPPING, tuple(stops)))))


if __name__ == "__main__":
    main()
