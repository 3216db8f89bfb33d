"""Measures how often the report names a slow rank that was planted, and how often one that was not.

    python perf/straggler_rates.py [SERIES]

Makes SERIES (200) made-up launches of each kind: 2, 4 and 8 ranks train under DDP for 100 steps,
and their own work varies as the kind says (under load by 2 % from step to step). Prints the
launches without a slow rank in which the report names one, and those in which it names exactly the
planted one: the first, the middle and the last rank in turn.
"""

import argparse
from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np

from milabench_ddp.report.ranks.rank_summary import RankSummary, summarize_ranks
from milabench_ddp.report.ranks.stragglers import stragglers
from milabench_ddp.results.records import Rank, Record

STEPS, OWN, STEP = 100, 50.0, 125.0  # ms
RANKS = (2, 4, 8)
Floats = np.ndarray
Noise = Callable[[np.random.Generator, int], Floats]  # shape (ranks, STEPS), about 1


def steady(random: np.random.Generator, ranks: int, deviation: float = 0.02) -> Floats:
    """Steps that vary independently."""
    return 1 + deviation * random.normal(size=(ranks, STEPS))


def wandering(random: np.random.Generator, ranks: int) -> Floats:
    """Steps that vary by 5 %, with a correlation of 0.9 from one to the next."""
    shocks = random.normal(size=(ranks, STEPS))
    values = shocks.copy()
    for k in range(1, STEPS):
        values[:, k] = 0.9 * values[:, k - 1] + np.sqrt(1 - 0.9**2) * shocks[:, k]
    return 1 + 0.05 * values


def pausing(random: np.random.Generator, ranks: int) -> Floats:
    """One step of 50 takes about twice as long."""
    is_pause = random.random((ranks, STEPS)) < 0.02
    return steady(random, ranks) * np.where(
        is_pause, 1 + random.exponential(1.0, (ranks, STEPS)), 1
    )


def loaded(share: float, length: int) -> Noise:
    """Foreign load: bursts of steps on random ranks, during which they take 20 to 100 % longer.

    Args:
        share: of the steps of all ranks, if no two bursts overlapped.
        length: the mean length of a burst, in steps.
    """

    def noise(random: np.random.Generator, ranks: int) -> Floats:
        values = steady(random, ranks)
        for _ in range(max(1, random.poisson(share * ranks * STEPS / length))):
            first, rank = random.integers(STEPS), random.integers(ranks)
            last = first + random.geometric(1 / length)
            values[rank, first:last] *= random.uniform(1.2, 2.0)
        return values

    return noise


CLEAN: dict[str, Noise] = {
    "2 % from step to step": steady,
    "10 % from step to step": lambda random, ranks: steady(random, ranks, 0.10),
    "5 %, correlation 0.9": wandering,
    "pauses": pausing,
    "load: bursts of 5 steps, 30 %": loaded(0.3, 5),
    "load: bursts of 20 steps, 30 %": loaded(0.3, 20),
    "load: bursts of 20 steps, 60 %": loaded(0.6, 20),
    "load: bursts of 50 steps, 30 %": loaded(0.3, 50),
}
SLOWED: dict[str, Noise] = {
    "2 % from step to step": steady,
    "5 % from step to step": lambda random, ranks: steady(random, ranks, 0.05),
    "pauses": pausing,
    "load: bursts of 5 steps, 10 %": loaded(0.1, 5),
}


def launch(own: Floats, stalls: Floats | None = None) -> tuple[RankSummary, ...]:
    """The ranks of a launch with this own work, as a report summarises them."""
    record = Record(Path("runs/made-up/b.0.data"), facts={"model": {"mode": "ddp"}})
    waits = np.zeros_like(own) if stalls is None else stalls
    for rank, (times, wait) in enumerate(zip(own, waits, strict=True)):
        parts = {"forward": 0.8 * times, "backward": STEP - times, "optimizer": 0.2 * times}
        ms = array("d", [STEP] * STEPS)
        lists = {name: array("f", found.tolist()) for name, found in parts.items()}
        record.ranks[rank] = Rank(ms, array("f", wait.tolist()), lists)
    return summarize_ranks([(record, lambda _: 0)])


def named(ranks: tuple[RankSummary, ...]) -> set[int]:
    """The numbers of the ranks that the report names."""
    return {rank.id.rank for rank in stragglers(ranks)[0]}


def false_alarms(noise: Noise, ranks: int, series: int) -> int:
    """The launches without a slow rank in which one is named."""
    random = np.random.default_rng(20261122)
    return sum(bool(named(launch(OWN * noise(random, ranks)))) for _ in range(series))


def detected(noise: Noise, ranks: int, series: int, delay: float) -> int:
    """The launches in which exactly the slowed rank is named; ``delay`` is a fraction."""
    random = np.random.default_rng(20261122)
    found = 0
    for k in range(series):
        own, slow = OWN * noise(random, ranks), (0, ranks // 2, ranks - 1)[k % 3]
        own[slow] *= 1 + delay
        found += named(launch(own)) == {slow}
    return found


def detected_stalls(ranks: int, series: int) -> int:
    """The same where a rank waits 20 ms for data in every fourth step."""
    random = np.random.default_rng(20261122)
    found = 0
    for k in range(series):
        own, slow = OWN * steady(random, ranks), (0, ranks // 2, ranks - 1)[k % 3]
        stalls = np.zeros_like(own)
        stalls[slow, k % 4 :: 4] = 20.0
        found += named(launch(own, stalls)) == {slow}
    return found


def main() -> None:
    """Print a line for each kind, with a column for each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", type=int, nargs="?", default=200)
    count = parser.parse_args().series
    print(f"{'of ' + str(count):46}" + "".join(f"{ranks:>4} ranks" for ranks in RANKS))
    for name, noise in CLEAN.items():
        alarms = [false_alarms(noise, ranks, count) for ranks in RANKS]
        print(f"{'false: ' + name:46}" + "".join(f"{n:>10}" for n in alarms))
    for name, noise in SLOWED.items():
        for delay in (0.05, 0.10, 0.20):
            found = [detected(noise, ranks, count, delay) for ranks in RANKS]
            print(f"{f'found: {delay:.0%} slower; {name}':46}" + "".join(f"{n:>10}" for n in found))
    stalls = [detected_stalls(ranks, count) for ranks in RANKS]
    print(f"{'found: waits 20 ms in every fourth step':46}" + "".join(f"{n:>10}" for n in stalls))


if __name__ == "__main__":
    main()
