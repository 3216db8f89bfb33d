"""Made-up series of rates around a level of 100, with a deviation of 1 %."""

import math
import random


def noisy(n: int, correlation: float, seed: int, level: float = 100.0) -> list[float]:
    """An autoregressive series with a standard deviation of 1 % of its level."""
    draw = random.Random(seed)
    x, rates = draw.gauss(0, 1), []
    for _ in range(n):
        rates.append(level * (1 + 0.01 * x))
        x = correlation * x + math.sqrt(1 - correlation**2) * draw.gauss(0, 1)
    return rates


def falling(n: int, seed: int, share: float, correlation: float = 0.0) -> list[float]:
    """A device that heats up: its rate falls steadily, by a share of it in all."""
    rates = noisy(n, correlation, seed)
    return [rate * (1 - share * k / (n - 1)) for k, rate in enumerate(rates)]


def throttled(n: int, seed: int, share: float = 0.1) -> list[float]:
    """A clock that drops in the last quarter."""
    rates = noisy(n, 0.0, seed)
    return [rate * (1 - share if k >= n - n // 4 else 1) for k, rate in enumerate(rates)]


def approaching(n: int, seed: int, time: float, start: float = 0.5) -> list[float]:
    """A rate that starts at a share of its level; its time constant is a share of the run."""
    rates = noisy(n, 0.0, seed)
    return [rate * (1 - (1 - start) * math.exp(-k / (time * n))) for k, rate in enumerate(rates)]


def alternating(n: int, seed: int, share: float = 0.16) -> list[float]:
    """Two levels in turn, in six blocks."""
    rates = noisy(n, 0.0, seed)
    return [rate * (1 - share * (k * 6 // n % 2)) for k, rate in enumerate(rates)]


def dwelling(n: int, seed: int, share: float = 0.08) -> list[float]:
    """Two levels; it changes between them by chance, after ``n / 10`` observations on average."""
    draw, slow, rates = random.Random(seed), 0, []
    for rate in noisy(n, 0.0, seed):
        slow ^= draw.random() < 10 / n
        rates.append(rate * (1 - share * slow))
    return rates
