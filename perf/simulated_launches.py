"""How much the launches of made-up suites differ: settings of ``simulated_suites.py``."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from planted_kinds import Draw

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
}
