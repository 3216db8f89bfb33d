import math
from collections import Counter
from statistics import fmean

import pytest

from milabench_ddp.plan.planner import in_order, new_seed, place, plan_launches
from tests.support.launches import SITE, benchmark, cluster

NAMES = [f"b{k}" for k in range(8)]


def shuffled(names: list[str], repeat: int, seed: int) -> list[str]:
    return sorted(names, key=lambda name: place(name, repeat, seed))


def test_a_seed_gives_the_same_order_today_and_tomorrow() -> None:
    assert shuffled(NAMES, 0, 1) == ["b0", "b3", "b7", "b2", "b1", "b4", "b5", "b6"]
    assert shuffled(NAMES, 0, 2) != shuffled(NAMES, 0, 1) != shuffled(NAMES, 1, 1)


def test_what_is_left_keeps_its_order() -> None:
    order = shuffled(NAMES, 3, 7)
    assert shuffled(NAMES[2:6], 3, 7) == [name for name in order if name in NAMES[2:6]]


def test_each_benchmark_is_as_often_first_as_any_other() -> None:
    """Of a machine that warms up, each then has as many cold launches in the mean."""
    firsts = Counter(shuffled(NAMES, repeat, seed)[0] for repeat in range(4) for seed in range(200))
    assert set(firsts) == set(NAMES)
    assert max(abs(count - 100) for count in firsts.values()) < 35  # 3.7 standard deviations


@pytest.mark.parametrize("seed", range(10))
def test_a_warming_machine_does_not_favour_the_first(seed: int) -> None:
    """It loses 5 % with a time constant of 6 of 40 launches: all benchmarks are equally fast."""
    launches = []
    for name in NAMES:
        launches += plan_launches(benchmark(name), cluster(gpus=1), SITE, repeats=5)
    apart = {}
    for order in (None, seed):
        rates: dict[str, list[float]] = {}
        for number, launch in enumerate(in_order(launches, order)):
            rates.setdefault(launch.benchmark.name, []).append(95 + 5 * math.exp(-number / 6))
        means = [fmean(found) for found in rates.values()]
        apart[order] = max(means) / min(means) - 1
    assert apart[None] > 0.03
    assert apart[seed] < 0.012


def test_launches_are_in_rounds() -> None:
    launches = []
    for name in NAMES:
        launches += plan_launches(benchmark(name), cluster(gpus=1), SITE, repeats=3)
    assert in_order(launches, None) == launches
    order = in_order(launches, 5)
    assert [launch.repeat for launch in order] == [0] * 8 + [1] * 8 + [2] * 8
    for repeat in range(3):
        found = [each.benchmark.name for each in order if each.repeat == repeat]
        assert found == shuffled(NAMES, repeat, 5)


def test_a_new_seed_can_be_typed() -> None:
    assert all(0 <= new_seed() < 10**6 for _ in range(5))


def test_two_sides_take_turns() -> None:
    """Of each benchmark A B, B A, A B: of a drift, only what is left of the last pair counts."""
    made = [(name, repeat, side) for name in NAMES for repeat in range(4) for side in (0, 1)]
    order = sorted(made, key=lambda it: place(it[0], it[1], 7, it[2]))
    for first, second in zip(order[::2], order[1::2], strict=True):
        assert first[:2] == second[:2]
        assert [first[2], second[2]] == ([0, 1], [1, 0])[first[1] % 2]
    assert [name for name, *_ in order[:16:2]] == shuffled(NAMES, 0, 7)
    moments = {name: [0, 0] for name in NAMES}
    for moment, (name, _, side) in enumerate(order):
        moments[name][side] += moment
    assert all(before == after for before, after in moments.values())
