"""The order in which benchmarks and their repeats run: as listed, or shuffled.

As listed, all repeats of a benchmark run one after another. Shuffled, they run in rounds: first all
benchmarks once, in a random order, then all once more, in another. A machine that warms up or
drifts is then as warm in the mean for one benchmark as for another, which one random order of
all launches would hold by chance alone. It also holds where it is not known beforehand how many
repeats each benchmark needs.

Two runs that are compared take turns: of each benchmark in a round, A and then B; in the next round
B and then A. So what drifts is in both launches of a pair, and its rest has the other sign next.
"""

from collections.abc import Sequence

from .launch import Launch

SEEDS = 10**6


def new_seed() -> int:
    """A random seed, short enough to be typed."""
    import random  # few runs are shuffled

    return random.SystemRandom().randrange(SEEDS)


def place(benchmark: str, repeat: int, seed: int, side: int = 0) -> tuple[int, bytes, int]:
    """The place of a launch in the shuffled order, as a key to sort by.

    It depends on nothing else, so ``--resume`` and ``--select`` keep the order of what is left.

    Args:
        benchmark: its name.
        repeat: from 0.
        seed: of the order.
        side: 0, or 1 for the second of two runs that take turns.
    """
    from hashlib import sha256

    digest = sha256(f"{seed}/{repeat}/{benchmark}".encode()).digest()
    return repeat, digest, (side + repeat) % 2


def in_order(launches: Sequence[Launch], seed: int | None) -> list[Launch]:
    """The launches in the shuffled order; without a seed, as they are listed."""
    if seed is None:
        return list(launches)
    return sorted(launches, key=lambda each: place(each.benchmark.name, each.repeat or 0, seed))
