"""How much the launches of made-up suites differ: settings of ``simulated_suites.py``."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.studies.planted_kinds import Draw

LAUNCHES = 0.01  # how much they differ

Effects = Callable[[Draw, int, int], np.ndarray]  # logarithms, of launches by benchmarks


@dataclass(frozen=True)
class Setting:
    """How launches differ, and how many there are."""

    before: int = 5
    after: int = 5
    history: int = 0
    effects: Effects = lambda draw, launches, count: LAUNCHES * draw.normal(size=(launches, count))
    after_effects: Effects | None = None  # of the launches after, if they differ otherwise
    in_turn: bool = False  # A, B, B, A, and so on: as many of each


def uneven(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Benchmarks whose launches differ by 0.3 % to 3 %."""
    return np.geomspace(0.003, 0.03, count) * draw.normal(size=(launches, count))


def one_wild(draw: Draw, launches: int, count: int) -> np.ndarray:
    """One benchmark whose launches differ by 5 times as much as those of the others."""
    found = LAUNCHES * draw.normal(size=(launches, count))
    found[:, 0] *= 5
    return found


def heavy(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Launches of which some are far off: Student's t with three degrees of freedom."""
    return LAUNCHES / math.sqrt(3) * draw.standard_t(3, size=(launches, count))


def slow_ones(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Launches of which one in ten is 5 % slower."""
    hit = draw.random((launches, count)) < 0.1
    return 0.003 * draw.normal(size=(launches, count)) - 0.05 * hit


def shared(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Half of the variance is that of a run, in which all benchmarks are launched once."""
    own, runs = draw.normal(size=(launches, count)), draw.normal(size=(launches, 1))
    return LAUNCHES * math.sqrt(0.5) * (own + runs)


def twice(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Launches that differ by twice as much."""
    return 2 * LAUNCHES * draw.normal(size=(launches, count))


def very_heavy(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Student's t with two degrees of freedom, which has no variance."""
    return LAUNCHES / 2 * draw.standard_t(2, size=(launches, count))


def skewed(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Lognormal: most launches are near the fastest, and few are far below it."""
    return -LAUNCHES / 2 * draw.lognormal(size=(launches, count))


def levels(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Launches at one of two levels, 4 % apart, each by chance."""
    chosen = draw.random((launches, count)) < 0.5
    return 0.002 * draw.normal(size=(launches, count)) - 0.04 * chosen


def sticky(draw: Draw, launches: int, count: int) -> np.ndarray:
    """The same, each launch with a chance of 20 % to change the level."""
    moves = draw.random((launches, count)) < 0.2
    moves[:1] = draw.random((min(launches, 1), count)) < 0.5
    chosen = np.cumsum(moves, axis=0) % 2
    return 0.002 * draw.normal(size=(launches, count)) - 0.04 * chosen


def correlated(phi: float) -> Effects:
    """Launches like the one before, AR(1): both sides one after another, or not at all alike."""

    def effects(draw: Draw, launches: int, count: int) -> np.ndarray:
        found = LAUNCHES * draw.normal(size=(launches, count))
        for k in range(1, launches):
            found[k] = phi * found[k - 1] + math.sqrt(1 - phi**2) * found[k]
        return found

    return effects


def drifting(draw: Draw, launches: int, count: int) -> np.ndarray:
    """Launches that become slower by 0.5 % from one to the next, from where the day began."""
    began = LAUNCHES * draw.normal(size=count)
    own = 0.003 * draw.normal(size=(launches, count))
    return own + began - 0.005 * np.arange(launches)[:, None]


SETTINGS: dict[str, Setting] = {
    "5 launches": Setting(),
    "2 launches": Setting(2, 2),
    "3 launches": Setting(3, 3),
    "10 launches": Setting(10, 10),
    "1 launch, a history of 10": Setting(1, 1, history=10),
    "5 and 1 launches": Setting(5, 1),
    "by 0.3 to 3 %": Setting(effects=uneven),
    "one by 5 %": Setting(effects=one_wild),
    "one by 5 %, 2 launches": Setting(2, 2, effects=one_wild),
    "heavy tails": Setting(effects=heavy),
    "one in ten 5 % slower": Setting(effects=slow_ones),
    "shared by halves": Setting(effects=shared),
    "2 % after": Setting(after_effects=twice),
    "3 launches of 2 % after 10": Setting(10, 3, after_effects=twice),
    "2 and 8 launches": Setting(2, 8),
    "3 and 8 launches": Setting(3, 8),
    "t2, 3 launches": Setting(3, 3, effects=very_heavy),
    "t2": Setting(effects=very_heavy),
    "t2, 3 and 8 launches": Setting(3, 8, effects=very_heavy),
    "lognormal": Setting(effects=skewed),
    "lognormal, 3 and 8 launches": Setting(3, 8, effects=skewed),
    "two levels, 3 launches": Setting(3, 3, effects=levels),
    "two levels": Setting(effects=levels),
    "two levels, 3 and 8 launches": Setting(3, 8, effects=levels),
    "sticky levels": Setting(effects=sticky),
    "AR(1) of 0.7": Setting(effects=correlated(0.7)),
    "AR(1) of 0.9": Setting(effects=correlated(0.9)),
    "drift": Setting(effects=drifting),
    "in turn": Setting(in_turn=True),
    "in turn, 3 launches": Setting(3, 3, in_turn=True),
    "in turn, 10 launches": Setting(10, 10, in_turn=True),
    "in turn, t2": Setting(effects=very_heavy, in_turn=True),
    "in turn, lognormal": Setting(effects=skewed, in_turn=True),
    "in turn, two levels": Setting(effects=levels, in_turn=True),
    "in turn, sticky levels": Setting(effects=sticky, in_turn=True),
    "in turn, sticky levels, 10 launches": Setting(10, 10, effects=sticky, in_turn=True),
    "in turn, AR(1) of 0.7": Setting(effects=correlated(0.7), in_turn=True),
    "in turn, AR(1) of 0.9": Setting(effects=correlated(0.9), in_turn=True),
    "in turn, drift, 3 launches": Setting(3, 3, effects=drifting, in_turn=True),
    "in turn, drift": Setting(effects=drifting, in_turn=True),
}
