"""Made-up series of rates."""

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
