"""Measures how often the report names a slow rank that was planted, and how often one that was not.

    python -m tests.studies.straggler_rates [SERIES]

Makes SERIES (200) made-up launches of each kind: 2, 4 and 8 ranks train for 100 steps, and their
own work varies as the kind says (under load by 2 % from step to step). Prints the launches without
a slow rank in which the report names one, all the time or in one half, and those in which it names
exactly the planted one: the first, the middle and the last rank in turn. Of a rank that is slow in
one part of the step, the part must be right as well, and the half of one that is slow in a half.
"""

import argparse
from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from milabench_ddp.report.ranks.rank_summary import RankSummary, summarize_ranks
from milabench_ddp.report.ranks.stragglers import HALVES, all_stragglers
from milabench_ddp.results.records import Rank, Record

STEPS, STEP = 100, 125.0  # ms
PARTS = {"data": 2.0, "forward": 15.0, "backward": 25.0, "optimizer": 5.0, "host": 3.0}  # ms
OWN = sum(PARTS.values())
RANKS = (2, 4, 8)
Floats = np.ndarray
# About 1, shape (ranks, STEPS), or (parts, ranks, STEPS) where the parts vary by themselves
Noise = Callable[[np.random.Generator, int], Floats]


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


def apart(deviation: float, levels: float = 0.0) -> Noise:
    """Each part varies by itself; ranks differ by up to ``levels`` in all their steps."""

    def noise(random: np.random.Generator, ranks: int) -> Floats:
        values = 1 + deviation * random.normal(size=(len(PARTS), ranks, STEPS))
        return values * (1 + levels * random.uniform(-1, 1, size=(ranks, 1)))

    return noise


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
    "each part by 8 %": apart(0.08),
    "each part by 5 %, levels within 3 %": apart(0.05, 0.015),
    "pauses": pausing,
    "load: bursts of 5 steps, 30 %": loaded(0.3, 5),
    "load: bursts of 20 steps, 30 %": loaded(0.3, 20),
    "load: bursts of 20 steps, 60 %": loaded(0.6, 20),
    "load: bursts of 50 steps, 30 %": loaded(0.3, 50),
}
SLOWED: dict[str, Noise] = {
    "2 % from step to step": steady,
    "5 % from step to step": lambda random, ranks: steady(random, ranks, 0.05),
    "each part by 5 %": apart(0.05),
    "each part by 8 %": apart(0.08),
    "each part by 5 %, levels within 2 %": apart(0.05, 0.01),
    "pauses": pausing,
    "load: bursts of 5 steps, 10 %": loaded(0.1, 5),
}
LAUNCHES = 5  # of the kinds that are repeated


def made_up(noise: Noise, random: np.random.Generator, ranks: int) -> Floats:
    """The time of each part in each step of each rank, in ms: shape (parts, ranks, STEPS)."""
    levels = np.array(list(PARTS.values()))[:, None, None]
    found: Floats = levels * noise(random, ranks)
    return found


def judged(*launches: Floats) -> tuple[RankSummary, ...]:
    """The ranks of launches with these parts, as a report summarises them."""
    processes = []
    for number, times in enumerate(launches):
        config = {"tag": ["b", f"R{number}", "0"]}
        record = Record(Path("runs/made-up/b.data"), config, facts={"model": {"mode": "ddp"}})
        for rank in range(times.shape[1]):
            parts = {name: array("f", part[rank]) for name, part in zip(PARTS, times, strict=True)}
            parts["exposed_communication"] = array("f", STEP - times[:, rank].sum(axis=0))
            wait = parts.pop("data")
            record.ranks[rank] = Rank(array("d", [STEP] * STEPS), wait, parts)
        processes.append((record, lambda _: 0))
    return summarize_ranks(processes)


def named(ranks: tuple[RankSummary, ...]) -> dict[int, str]:
    """The numbers of the ranks that the report names, with their slowest parts, and their half."""
    return {each.rank.id.rank: each.part + each.when for each in all_stragglers(ranks)}


def false_alarms(noise: Noise, ranks: int, series: int, launches: int = 1) -> int:
    """The runs without a slow rank in which one is named."""
    random = np.random.default_rng(20261122)
    found = 0
    for _ in range(series):
        found += bool(named(judged(*(made_up(noise, random, ranks) for _ in range(launches)))))
    return found


def detected(
    noise: Noise, ranks: int, series: int, delay: float, part: str = "", launches: int = 1
) -> int:
    """The runs in which exactly the slowed rank is named, and the part if it is only one.

    Args:
        noise: of the steps.
        ranks: how many.
        series: how many runs.
        delay: as a fraction of all own work.
        part: in which the rank is slow; empty if in all.
        launches: of a run.
    """
    random = np.random.default_rng(20261122)
    found = 0
    for k in range(series):
        slow, several = (0, ranks // 2, ranks - 1)[k % 3], []
        for _ in range(launches):
            times = made_up(noise, random, ranks)
            if part:
                times[list(PARTS).index(part), slow] += delay * OWN
            else:
                times[:, slow] *= 1 + delay
            several.append(times)
        said = named(judged(*several))
        found += said == {slow: part} if part else said.keys() == {slow}
    return found


def detected_in_half(noise: Noise, ranks: int, series: int) -> int:
    """The same where a rank takes 50 % longer in the second half, in its backward pass."""
    random = np.random.default_rng(20261122)
    found = 0
    for k in range(series):
        times, slow = made_up(noise, random, ranks), (0, ranks // 2, ranks - 1)[k % 3]
        times[list(PARTS).index("backward"), slow, STEPS // 2 :] += 0.5 * OWN
        found += named(judged(times)) == {slow: "backward" + HALVES[1]}
    return found


def detected_two(noise: Noise, ranks: int, series: int) -> int:
    """The same where two ranks take 10 % longer in all parts; of two ranks none can be named."""
    random = np.random.default_rng(20261122)
    found = 0
    for k in range(series):
        times, slow = made_up(noise, random, ranks), {k % ranks, (k + 1) % ranks}
        times[:, list(slow)] *= 1.1
        found += named(judged(times)).keys() == slow
    return found


def detected_stalls(ranks: int, series: int) -> int:
    """The same where a rank waits 20 ms for data in every fourth step."""
    random = np.random.default_rng(20261122)
    found = 0
    for k in range(series):
        times, slow = made_up(steady, random, ranks), (0, ranks // 2, ranks - 1)[k % 3]
        times[0, slow, k % 4 :: 4] += 20.0
        found += named(judged(times)) == {slow: "data"}
    return found


def say(kind: str, count: Callable[[int], int]) -> None:
    """A line, with a column for each number of ranks."""
    print(f"{kind:60}" + "".join(f"{count(ranks):>8}" for ranks in RANKS), flush=True)


def main() -> None:
    """Print a line for each kind, with a column for each number of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", type=int, nargs="?", default=200)
    count = parser.parse_args().series
    print(f"{'of ' + str(count):60}" + "".join(f"{ranks:>2} ranks" for ranks in RANKS))
    for name, noise in CLEAN.items():
        say(f"false: {name}", partial(false_alarms, noise, series=count))
    for name in ("5 %, correlation 0.9", "each part by 8 %", "load: bursts of 50 steps, 30 %"):
        alarms = partial(false_alarms, CLEAN[name], series=count, launches=LAUNCHES)
        say(f"false: {name}; {LAUNCHES} launches", alarms)
    for name, noise in SLOWED.items():
        for delay in (0.05, 0.10, 0.20):
            say(
                f"found: {delay:.0%} slower; {name}",
                partial(detected, noise, series=count, delay=delay),
            )
        late = partial(detected, noise, series=count, delay=0.05, part="backward")
        say(f"found: 5% slower in backward; {name}", late)
        say(
            f"found: 50% in the second half; {name}", partial(detected_in_half, noise, series=count)
        )
        say(f"found: two 10% slower; {name}", partial(detected_two, noise, series=count))
    repeated = partial(detected, apart(0.08), series=count, delay=0.05, launches=LAUNCHES)
    say(f"found: 5% slower; each part by 8 %; {LAUNCHES} launches", repeated)
    say("found: waits 20 ms in every fourth step", partial(detected_stalls, series=count))


if __name__ == "__main__":
    main()
