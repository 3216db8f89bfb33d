"""Made-up series of steps, whose true rate is known; noise is 1 % of the rate."""

import math
from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = np.random.Generator
NOISE = 0.01


class Planted(NamedTuple):
    """A series, and its truth."""

    seconds: Floats  # of each step, around 1
    rate: float  # in the long run
    is_shown: bool = True  # by any of its steps; without, it is like a series with another truth


Kind = Callable[[Draw, int], Planted]


def noise(draw: Draw, n: int, correlation: float = 0.0) -> Floats:
    """Factors around 1, of which neighbours are alike."""
    found = draw.standard_normal(n)
    for k in range(1, n):
        found[k] = correlation * found[k - 1] + math.sqrt(1 - correlation**2) * found[k]
    return 1 + NOISE * found


def moving(
    rates: Callable[[Floats], Floats], correlation: float = 0.0, *, mean: bool = False
) -> Kind:
    """Rates by the place in the run, from 0 to 1; the truth is the last, or their mean."""

    def kind(draw: Draw, n: int) -> Planted:
        seconds = 1 / rates(np.arange(n) / n)
        truth = 1 / float(seconds.mean()) if mean else float(rates(np.ones(1))[0])
        return Planted(seconds * noise(draw, n, correlation), truth)

    return kind


def approach(start: float, time: float, correlation: float = 0.0) -> Kind:
    """A start-up: an exponential from ``start`` to 1; its time constant is a share of the run."""

    def kind(draw: Draw, n: int) -> Planted:
        rates = 1 - (1 - start) * np.exp(-np.arange(n) / (time * n))
        return Planted(noise(draw, n, correlation) / rates, 1.0)

    return kind


def cold(steps: int, after: Kind) -> Kind:
    """Steps at a third of the speed, and then another kind."""

    def kind(draw: Draw, n: int) -> Planted:
        found = after(draw, n)
        found.seconds[:steps] *= 3
        return found

    return kind


def two_levels(length: float, *, equal: bool, slower: float = 0.08) -> Kind:
    """Two levels in turn, for ``length`` of the run each: always, or on average."""

    def kind(draw: Draw, n: int) -> Planted:
        steps = max(2, round(length * n))
        switches = draw.random(n) < 1 / steps
        if equal:
            switches = (np.arange(n) + draw.integers(2 * steps)) % steps == 0
        slow = (np.cumsum(switches) + draw.integers(2)) % 2
        seconds = noise(draw, n) * (1 + slower * slow)
        return Planted(seconds, 1 / (1 + slower / 2), stays(slow))

    return kind


def stays(slow: NDArray[np.int_]) -> bool:
    """Whether the rarer level lasts for longer than a pause: 3 steps in a row, 1 % of all.

    At the beginning it is 5 steps: fewer are cold steps.
    """
    rarer = int(2 * slow.sum() < len(slow))
    stretches = [(int(level), len(list(same))) for level, same in groupby(slow)]
    if stretches[0][1] < 5:
        del stretches[0]
    longest = max((length for level, length in stretches if level == rarer), default=0)
    return longest >= max(3, 0.01 * len(slow))


def bursts(length: float, each_run: float, slower: float) -> Kind:
    """Slow steps for ``length`` of the run, at any time, so many times in a run on average."""

    def kind(draw: Draw, n: int) -> Planted:
        steps = max(1, round(length * n))
        begins = draw.random(n + steps) < each_run / n
        slow = np.convolve(begins, np.ones(steps))[steps : n + steps] > 0
        share = 1 - (1 - each_run / n) ** steps
        seconds = noise(draw, n) * (1 + slower * slow)
        return Planted(seconds, 1 / (1 + slower * share), bool(slow.any()))

    return kind


def pauses(every: int, *, equal: bool, size: float = 3.0) -> Kind:
    """Steps that take several times as long, at equal distances or by chance."""

    def kind(draw: Draw, n: int) -> Planted:
        paused = draw.random(n) < 1 / every
        if equal:
            paused = (np.arange(n) + draw.integers(every)) % every == 0
        seconds = noise(draw, n) * np.where(paused, size, 1)
        return Planted(seconds, 1 / (1 + (size - 1) / every), bool(paused.any()))

    return kind


def coarse(ticks: int) -> Kind:
    """A clock of which a step takes few ticks."""

    def kind(draw: Draw, n: int) -> Planted:
        ends = np.floor(ticks * np.cumsum(noise(draw, n)) + draw.random())
        return Planted(np.maximum(np.diff(ends, prepend=0), 1) / ticks, 1.0)

    return kind


def stationary(correlation: float) -> Kind:
    """Noise alone."""
    return moving(np.ones_like, correlation)


def falling(by: float, correlation: float = 0.0, *, mean: bool = False) -> Kind:
    """A steady fall, as of a device that heats up."""
    return moving(lambda place: 1 - by * place, correlation, mean=mean)


def throttled(by: float, at: float, correlation: float = 0.0) -> Kind:
    """A clock that drops once."""
    return moving(lambda place: np.where(place < at, 1.0, 1 - by), correlation)


KINDS: dict[str, Kind] = {
    "white noise": stationary(0.0),
    "correlation 0.5": stationary(0.5),
    "correlation 0.9": stationary(0.9),
    "ramp, tau 5 %": approach(0.5, 0.05),
    "ramp, tau 20 %": approach(0.5, 0.2),
    "low ramp, tau 20 %": approach(0.9, 0.2),
    "low ramp, tau 30 %": approach(0.9, 0.3),
    "fast start, tau 20 %": approach(1.05, 0.2),
    "ramp, tau 20 %, correlation 0.5": approach(0.5, 0.2, 0.5),
    "throttle 10 %, last quarter": throttled(0.1, 0.75),
    "throttle 3 %, last quarter": throttled(0.03, 0.75),
    "throttle 10 %, correlation 0.5": throttled(0.1, 0.75, 0.5),
    "throttle 10 %, last eighth": throttled(0.1, 0.875),
    "blocks of n/6": two_levels(1 / 6, equal=True),
    "blocks of n/6, 16 %": two_levels(1 / 6, equal=True, slower=0.16),
    "blocks of n/20": two_levels(1 / 20, equal=True),
    "dwell n/20": two_levels(1 / 20, equal=False),
    "dwell n/10": two_levels(1 / 10, equal=False),
    "dwell n/4": two_levels(1 / 4, equal=False),
    "dwell n/4, 3 %": two_levels(1 / 4, equal=False, slower=0.03),
    "dwell n/2": two_levels(1 / 2, equal=False),
    "bursts of n/20, 3 a run": bursts(1 / 20, 3, 0.08),
    "bursts of n/50, 3 a run": bursts(1 / 50, 3, 0.3),
    "pause each 7th": pauses(7, equal=True),
    "pause each 20th": pauses(20, equal=True),
    "pause 1 of 20": pauses(20, equal=False),
    "falls 0.5 %": falling(0.005),
    "falls 0.5 %, mean": falling(0.005, mean=True),
    "falls 1 %": falling(0.01),
    "falls 1 %, mean": falling(0.01, mean=True),
    "falls 2 %": falling(0.02),
    "falls 2 %, mean": falling(0.02, mean=True),
    "falls 5 %": falling(0.05),
    "falls 5 %, mean": falling(0.05, mean=True),
    "falls 2 %, correlation 0.5": falling(0.02, 0.5),
    "falls 2 %, correlation 0.5, mean": falling(0.02, 0.5, mean=True),
    "cold step": cold(1, stationary(0.0)),
    "3 cold steps, correlation 0.5": cold(3, stationary(0.5)),
    "cold step, falls 2.8 %": cold(1, falling(0.028)),
    "cold step, falls 2.8 %, mean": cold(1, falling(0.028, mean=True)),
    "3 ticks of a clock": coarse(3),
    "20 ticks of a clock": coarse(20),
}
