"""Compares made-up suites whose truth is known: false alarms, what is found, what intervals hold.

    python -m tests.studies.simulated_suites [--suites 1000] [--benchmarks 30]
        [--coverage] [SETTING ...]

Rates go the way of real ones, from the observations of each launch on: steady state, mean rate of
the launch, ratio, verdict. The 200 steps of a launch differ by 1 % and are like their neighbours
(AR(1), of 0, 0.5 and 0.9 in turn over the benchmarks), launches by 1 % unless the setting says
otherwise. Columns:

alarms     the share of suites with any verdict "slower" or "faster", where nothing changed
one, six   how often -3 % in one of the benchmarks, or in six, is found: the share of these
all        the same, in all benchmarks
false      the mean share of the verdicts "slower" and "faster" that are false, in suites with six
not -3 %   the share of suites with a verdict "slower" at a threshold of 3 %, where all benchmarks
           became slower by 3 %, so that none is by more
same       the share of verdicts "same" where nothing changed

With ``--coverage``: how often the 95 % interval of a ratio holds the truth, for a benchmark that is
compared alone and for one of a suite. Of one launch each, it is meant for the ratio of these two
launches ("within"), and does not hold that of others ("held").
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np
from msgspec.structs import replace

from milabench_ddp.report.comparison.ratios import Pair, Ratio, ratios
from milabench_ddp.report.comparison.verdicts import RatioVerdict, judge
from milabench_ddp.report.statistics.interval import Launches, Series
from milabench_ddp.report.statistics.steady import steady_state
from milabench_ddp.table import Column, Table, text_lines
from tests.studies.planted_kinds import Draw, noise
from tests.studies.simulated_launches import LAUNCHES, SETTINGS, Setting

CORRELATIONS = (0.0, 0.5, 0.9)
SLOWER = 0.97
WITHIN = 0.03
CHANGES = (RatioVerdict.SLOWER, RatioVerdict.FASTER)


def launch(rates: np.ndarray) -> list[Series]:
    """A launch of one process."""
    found = steady_state(rates.tolist())
    kept = tuple(rates[found.start :].tolist())
    return [Series(kept, tuple(1 / rate for rate in kept), found)]


def launches(draw: Draw, effects: np.ndarray, steps: int, correlation: float) -> list[list[Series]]:
    """The launches of a benchmark, by the logarithms of how they differ."""
    return [launch(math.exp(each) / noise(draw, steps, correlation)) for each in effects]


def suite(setting: Setting, benchmarks: int, steps: int, seed: int) -> list[Pair]:
    """The benchmarks of a suite in which nothing changed."""
    draw = np.random.default_rng([seed, steps])
    if setting.in_turn:
        made = setting.effects(draw, 2 * setting.before, benchmarks)
        first, second = made[0::2], made[1::2]  # of each pair
        is_odd = np.arange(setting.before)[:, None] % 2 == 1
        before, after = np.where(is_odd, second, first), np.where(is_odd, first, second)
    else:
        before = setting.effects(draw, setting.before, benchmarks)
        after = (setting.after_effects or setting.effects)(draw, setting.after, benchmarks)
    history = setting.effects(draw, setting.history, benchmarks)
    pairs = []
    for k in range(benchmarks):
        sides = []
        for effects in (before, after, history):
            sides.append(launches(draw, effects[:, k], steps, CORRELATIONS[k % 3]))
        past = sides[2:] if setting.history else ()
        pairs.append(Pair(sides[0], sides[1], past, is_paired=setting.in_turn))
    return pairs


def changed(pairs: Sequence[Pair], which: Sequence[int], factor: float) -> list[Pair]:
    """The same, with some of them changed by a factor."""
    found = list(pairs)
    for k in which:
        found[k] = replace(pairs[k], after=scaled(pairs[k].after, factor))
    return found


def scaled(launches: Launches, factor: float) -> Launches:
    """Launches with all rates times a factor."""
    made = []
    for each in launches:
        series = []
        for old in each:
            rates = tuple(factor * rate for rate in old.rates)
            series.append(Series(rates, tuple(s / factor for s in old.seconds), old.found))
        made.append(series)
    return made


@dataclass(frozen=True)
class Told:
    """What was said about a suite, as nothing changed, and with planted changes."""

    alarms: int
    same: float
    found: tuple[float, float, float]  # of 1, 6 and all that became slower
    false: float  # of the verdicts with 6
    beyond: int  # "slower" by more than 3 %, where all became slower by 3 %


def told(setting: Setting, benchmarks: int, steps: int, seed: int) -> Told:
    """What is said about one suite."""
    pairs = suite(setting, benchmarks, steps, seed)
    nothing = verdicts(pairs)
    shares, false = [], 0.0
    for count in (1, 6, benchmarks):
        which = [(seed + k) % benchmarks for k in range(count)]
        said = verdicts(changed(pairs, which, SLOWER))
        right = sum(said[k] is RatioVerdict.SLOWER for k in which)
        shares.append(right / count)
        if count == 6:
            claimed = sum(each in CHANGES for each in said)
            false = (claimed - right) / max(claimed, 1)
    beyond = verdicts(changed(pairs, range(benchmarks), SLOWER), 1 - SLOWER)
    return Told(
        alarms=sum(each in CHANGES for each in nothing),
        same=nothing.count(RatioVerdict.SAME) / benchmarks,
        found=(shares[0], shares[1], shares[2]),
        false=false,
        beyond=beyond.count(RatioVerdict.SLOWER),
    )


def verdicts(pairs: Sequence[Pair], threshold: float = 0.0) -> list[RatioVerdict]:
    """The verdicts on the benchmarks of a suite."""
    return [each.verdict for each in judge(ratios(pairs), threshold, WITHIN)]


SUITES = (
    Column("setting"),
    Column("alarms", ".1%"),
    Column("one", ".1%"),
    Column("six", ".1%"),
    Column("all", ".1%"),
    Column("false", ".1%"),
    Column("not -3 %", ".1%"),
    Column("same", ".0%"),
)


def suites_row(name: str, found: Sequence[Told]) -> tuple[object, ...]:
    """The row of a setting."""
    return (
        name,
        float(np.mean([each.alarms > 0 for each in found])),
        *(float(np.mean([each.found[k] for each in found])) for k in range(3)),
        float(np.mean([each.false for each in found])),
        float(np.mean([each.beyond > 0 for each in found])),
        float(np.mean([each.same for each in found])),
    )


COVERAGE = (
    Column("launches", "d"),
    Column("steps", "d"),
    Column("AR(1)", ".1f"),
    Column("alone: interval", ".0%"),
    Column("held", ".1%"),
    Column("within", ".1%"),
    Column("half width", ".2%"),
    Column("of 30: interval", ".0%"),
    Column("held", ".1%"),
    Column("half width", ".2%"),
)


@dataclass(frozen=True)
class Held:
    """Whether an interval of the ratio 1 holds it."""

    has: bool
    held: bool
    within: bool  # the ratio of these launches
    width: float


def held(count: int, steps: int, correlation: float, seed: int) -> Iterator[tuple[Held, Held]]:
    """The intervals of a suite in which nothing changed: of each alone, and of all together."""
    draw = np.random.default_rng([seed, steps, count, int(10 * correlation)])
    pairs, truths = [], []
    for _ in range(30):
        effects = LAUNCHES * draw.normal(size=(2, count))
        truths.append(math.exp(effects[1].mean() - effects[0].mean()))
        sides = [launches(draw, each, steps, correlation) for each in effects]
        pairs.append(Pair(sides[0], sides[1]))
    for pair, together, truth in zip(pairs, ratios(pairs), truths, strict=True):
        yield holding(ratios([pair])[0], truth), holding(together, truth)


def holding(ratio: Ratio, of_these: float) -> Held:
    """Whether the interval of a ratio holds 1, and the ratio of these launches."""
    if ratio.interval is None:
        return Held(False, False, False, math.nan)
    low, high = ratio.interval
    return Held(True, low <= 1 <= high, low <= of_these <= high, (high - low) / 2)


def coverage_row(count: int, steps: int, correlation: float, suites: int) -> tuple[object, ...]:
    """How often intervals hold the truth."""
    cells: list[object] = [count, steps, correlation]
    found: list[tuple[Held, Held]] = []
    for seed in range(suites):
        found += held(count, steps, correlation, seed)
    for is_alone, which in zip((True, False), zip(*found, strict=True), strict=True):
        known = [each for each in which if each.has]
        cells.append(len(known) / len(which))
        cells.append(float(np.mean([each.held for each in known])) if known else None)
        if is_alone:
            is_single = known and count == 1
            cells.append(float(np.mean([each.within for each in known])) if is_single else None)
        cells.append(float(np.median([each.width for each in known])) if known else None)
    return tuple(cells)


def each_row(args: argparse.Namespace, pool: ProcessPoolExecutor) -> Iterator[tuple[object, ...]]:
    """The rows that were asked for, each as soon as it is known."""
    if args.coverage:
        cases = list(product((1, 2, 5), (20, 60, 200), CORRELATIONS))
        counts, steps, correlations = zip(*cases, strict=True)
        yield from pool.map(coverage_row, counts, steps, correlations, [args.suites] * len(cases))
        return
    for name in SETTINGS:
        if not args.settings or any(part in name for part in args.settings):
            work = [(name, args.benchmarks, args.steps, seed) for seed in range(args.suites)]
            yield suites_row(name, list(pool.map(_told, work, chunksize=10)))


def _told(work: tuple[str, int, int, int]) -> Told:
    name, benchmarks, steps, seed = work
    return told(SETTINGS[name], benchmarks, steps, seed)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("settings", nargs="*", metavar="SETTING", help="a part of its name")
    parser.add_argument("--suites", type=int, default=1000)
    parser.add_argument("--benchmarks", type=int, default=30)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--coverage", action="store_true")
    args = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        rows = tuple(each_row(args, pool))
    columns = COVERAGE if args.coverage else SUITES
    print("\n".join(text_lines(Table(columns, rows))))


if __name__ == "__main__":
    main()
