"""Measures how often ``history`` names a GPU that got slower, and how often one that did not.

    python -m tests.studies.planted_history [SERIES]

Makes SERIES (100) made-up histories of each kind: 40 runs of 64 GPUs that differ by 3 % for good
and share a daily wave of 2 %. Looks after each run, as one would, and prints

* of histories in which one GPU (the first, the middle and the last in turn) is 4 % slower from run
  30 on: in how many it is named by run 31, 32 and 35, and in how many any other GPU ever is;
* of histories in which none is: in how many one ever is;
* of benchmarks without GPUs to compare, with noise of more kinds: in how many a change is told that
  is none, ever and after the last run, and by which run one of 5 % from run 21 on is.
"""

import argparse
from collections.abc import Callable

import numpy as np

from milabench_ddp.report.history.change_points import changes_of
from milabench_ddp.report.history.history import ALPHA, BACK, THRESHOLD, changes_in
from milabench_ddp.report.history.noise import FEWEST, family_of
from milabench_ddp.report.history.tracks import Track, against_peers

RUNS, GPUS, SLOW_FROM, SLOWER = 40, 64, 30, 0.04
Floats = np.ndarray
Noise = Callable[[np.random.Generator, tuple[int, int]], Floats]  # shape (runs, GPUs)


def white(deviation: float) -> Noise:
    """Independent runs."""
    return lambda draw, shape: deviation * draw.normal(size=shape)


def tailed(deviation: float) -> Noise:
    """Independent runs, by Student's t with 3 degrees of freedom."""
    return lambda draw, shape: deviation * draw.standard_t(3, size=shape) / 3**0.5


def uneven(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """GPUs whose noise differs: from 0.2 to 2 %."""
    return np.exp(draw.uniform(np.log(0.002), np.log(0.02), shape[1])) * draw.normal(size=shape)


def disturbed(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """One run in 100 of each GPU is 10 to 30 % slower."""
    is_slow = draw.random(shape) < 0.01
    return white(0.005)(draw, shape) - is_slow * draw.uniform(0.1, 0.3, shape)


def alike(correlation: float, deviation: float) -> Noise:
    """Runs are like the one before."""

    def noise(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
        shocks = draw.normal(size=shape)
        values = shocks.copy()
        for run in range(1, shape[0]):
            own = (1 - correlation**2) ** 0.5 * shocks[run]
            values[run] = correlation * values[run - 1] + own
        return deviation * values

    return noise


def levels(leaves: float, returns: float) -> Noise:
    """Two levels that differ by 5 %: the chances to leave one after a run, and to return to it."""

    def noise(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
        is_low = np.zeros(shape, bool)
        for run in range(1, shape[0]):
            chance = draw.random(shape[1])
            is_low[run] = np.where(is_low[run - 1], chance >= returns, chance < leaves)
        return white(0.005)(draw, shape) - 0.05 * is_low

    return noise


def absent(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Each run is on half of the GPUs."""
    values = white(0.005)(draw, shape)
    values[draw.random(shape) < 0.5] = np.nan
    return values


KINDS: dict[str, Noise] = {
    "noise 0.25 %": white(0.0025),
    "noise 0.5 %": white(0.005),
    "noise 1 %": white(0.01),
    "noise 1.5 %": white(0.015),
    "noise 0.5 %, heavy tails": tailed(0.005),
    "noise 0.2 to 2 % by GPU": uneven,
    "noise 0.5 %, 1 % of runs disturbed": disturbed,
    "noise 0.5 %, correlated by 0.5": alike(0.5, 0.005),
    "noise 0.5 %, half of the GPUs": absent,
}


def changed(all_values: list[Floats], alpha: float) -> set[int]:
    """The series of which a change is told."""
    family = family_of(all_values, alpha)
    found = set()
    for index, values in enumerate(all_values):
        if len(values) >= FEWEST:
            runs = tuple(range(len(values)))
            track = Track("", "", None, 0, runs, values, changes_of(values, family))
            if any(change.kind != BACK for change in changes_in(track, THRESHOLD)):
                found.add(index)
    return found


def named(logs: Floats) -> list[set[int]]:
    """The GPUs that are named after each run, of those in which something can be."""
    looks = []
    for runs in range(FEWEST, len(logs) + 1):
        relative = against_peers(logs[:runs])
        columns = [column[~np.isnan(column)] for column in relative.T]
        looks.append(changed(columns, ALPHA / 2))
    return looks


def gpus(noise: Noise, series: int) -> tuple[float, float, float, float, float]:
    """The rates at which the slow GPU is named by runs 31, 32, 35; others; any without one."""
    by = np.zeros(3)
    others = alarms = 0
    for seed in range(series):
        draw = np.random.default_rng(seed)
        hours = 6.0 * np.arange(RUNS)[:, None] + draw.uniform(0, 24)
        logs = 0.02 * np.sin(2 * np.pi * hours / 24) + 0.03 * draw.normal(size=GPUS)
        logs = logs + noise(draw, (RUNS, GPUS))
        alarms += any(named(logs))
        slow = (0, GPUS // 2, GPUS - 1)[seed % 3]
        logs[SLOW_FROM - 1 :, slow] += np.log1p(-SLOWER)
        looks = named(logs)
        by += [slow in looks[run - FEWEST] for run in (31, 32, 35)]
        others += any(found - {slow} for found in looks)
    return *(by / series).tolist(), others / series, alarms / series


def alone(noise: Noise, series: int, slower: float = 0.0, count: int = 1) -> list[float]:
    """The rates at which a change is told in benchmarks, ever or by runs 23, 25, 30 and 40."""
    looks = (23, 25, 30, RUNS)
    told = np.zeros(len(looks) + 1)
    for seed in range(series):
        draw = np.random.default_rng(seed)
        logs = noise(draw, (RUNS, count))
        logs[20:, 0] += np.log1p(-slower)
        found = {}
        for runs in looks if slower else range(FEWEST, RUNS + 1):
            found[runs] = bool(changed(list(logs[:runs].T), ALPHA / 2))
        told += [any(found.values()), *(found[run] for run in looks)]
    return (told / series).tolist()


def daily(period: float) -> Noise:
    """A wave of 2 %, and noise of 0.5 %."""

    def noise(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
        place = np.arange(shape[0])[:, None] / period + draw.uniform()
        return 0.02 * np.sin(2 * np.pi * place) + white(0.005)(draw, shape)

    return noise


OF_BENCHMARKS: dict[str, Noise] = {
    "noise 0.5 %": white(0.005),
    "noise 1 %": white(0.01),
    "t2, 0.5 %": lambda draw, shape: 0.005 * draw.standard_t(2, size=shape),
    "lognormal, 0.7 %": lambda draw, shape: -0.007 * np.exp(draw.normal(size=shape)),
    "noise 0.5 %, 1 % of runs disturbed": disturbed,
    "two levels, 1 run": levels(0.5, 0.5),
    "two levels, 5 runs": levels(0.2, 0.2),
    "two levels, 10 runs": levels(0.1, 0.1),
    "busy for 4 runs, calm for 15": levels(1 / 15, 0.25),
    **{f"noise 1 %, correlated by {each}": alike(each, 0.01) for each in (0.5, 0.7, 0.9)},
    "wave, 4 runs a day": daily(4),
    "wave, 24 runs a day": daily(24),
    "6 % less in all, little by little": lambda draw, shape: (
        white(0.005)(draw, shape) - 0.06 * np.arange(shape[0])[:, None] / RUNS
    ),
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("series", nargs="?", type=int, default=100)
    series = parser.parse_args().series
    print("one of 64 GPUs 4 % slower from run 30: named by run 31, 32, 35; others; none slower")
    for kind, noise in KINDS.items():
        print(f"{kind:36}", *(f"{rate:7.1%}" for rate in gpus(noise, series)), flush=True)
    print("a benchmark: told of nothing, ever; after 40 runs; of -5 % at run 21: by 23, 25, 30, 40")
    for kind, noise in OF_BENCHMARKS.items():
        for count in (1, 30):
            ever, *_, last = alone(noise, series, count=count)
            found = alone(noise, series, 0.05, count)[1:]
            told = " ".join(f"{rate:7.1%}" for rate in (ever, last, *found))
            print(f"{kind:36} {count:3} {told}", flush=True)
