"""The forms of communication, of planted messages."""

import numpy as np
import pytest

from milabench_ddp.report.prediction.communication import GROWTHS, LATENCY, Cost, Fits, Spread
from milabench_ddp.report.prediction.messages import Message, merged
from tests.support.planted_scaling import Planted, ring, tree

NONE = Spread(0.0, 0)
SIZES = (1e6, 25e6, 14e6)


def messages_of(plant: Planted, counts: tuple[int, ...], launches: int = 1) -> list[Message]:
    found = []
    for launch in range(launches):
        for count in counts:
            for size, ms in zip(plant.sizes, plant.messages(count), strict=True):
                found.append(Message(100 * launch + count, count, size, float(ms)))
    return found


def ms_of(cost: Cost, plant: Planted, count: int) -> list[float]:
    sizes = np.array(plant.sizes)
    return [float(ms) for ms in cost.ms(count, sizes, 0 * sizes)]


@pytest.mark.parametrize("hops", [ring, tree])
@pytest.mark.parametrize("constant", [0.0, 0.3])
@pytest.mark.parametrize("beta", [1e5, 1e7, 1e12])
def test_the_form_is_found_at_three_sizes(hops, constant: float, beta: float) -> None:
    plant = Planted(constant=constant, hop=0.1, hops=hops, beta=beta)
    fits = Fits(messages_of(plant, (2, 3, 5)), 1, NONE)
    assert sum(ms_of(fits.best, plant, 64)) == pytest.approx(plant.messages(64).sum(), rel=0.01)


def test_of_a_single_count_the_growth_is_not_known() -> None:
    """All of them are kept, and the plain one between the others is the best."""
    plant = Planted(hop=1.0, hops=tree)
    fits = Fits(messages_of(plant, (2,)), 1, NONE)
    assert ms_of(fits.best, plant, 16) == pytest.approx(list(plant.messages(16)))
    chance = np.random.default_rng(1)
    drawn = [fits.redrawn(chance).form for _ in range(200)]
    assert {form.growth for form in drawn if LATENCY in form.terms} == set(GROWTHS)
    assert any(LATENCY not in form.terms for form in drawn)
    fades = [form.fade for form in drawn]
    assert 60 < fades.count(0.0) < 140
    assert max(fades) > 0.95


@pytest.mark.parametrize("fade", [0.3, 0.5, 0.74, 1.0])
def test_bandwidth_that_falls_with_the_nodes(fade: float) -> None:
    """A link that all share has a g of 1."""
    plant = Planted(hop=0.1, congestion=lambda count: count**fade)
    best = Fits(messages_of(plant, (2, 3, 4)), 1, NONE).best
    assert best.form.fade == fade
    assert ms_of(best, plant, 32) == pytest.approx(list(plant.messages(32)), rel=1e-6)
    assert f" * N^{fade:.2g}" in best.text(of_bytes=True)


def test_hops_that_meet() -> None:
    plant = Planted(hop=0.1, hops=lambda count: ring(count) ** 1.5)
    best = Fits(messages_of(plant, (2, 4)), 1, NONE).best
    assert ms_of(best, plant, 32) == pytest.approx(list(plant.messages(32)), rel=1e-6)


def test_a_ring_over_all_ranks_hardly_grows() -> None:
    """Of 8 ranks a node, 2 (W - 1)/W of 16 and 64 ranks are nearly the same."""
    for each, expected in ((8, 2 * 255 / 256), (1, 2 * 31 / 32)):
        messages = []
        for count in (2, 4, 8):
            ranks = count * each
            for size in SIZES:
                messages.append(Message(count, count, size, 2 * (ranks - 1) / ranks * size / 1e6))
        best = Fits(messages, 8, NONE).best
        assert best.form.each == each
        ms = best.ms(32, np.array([1e6]), np.zeros(1))
        assert float(ms[0]) == pytest.approx(expected, rel=1e-3)


def test_a_ring_within_each_node_comes_first() -> None:
    messages = []
    for count in (2, 4, 8):
        for size in SIZES:
            alone = size / 4e6
            ms = alone + 2 * (count - 1) / count * size / 1e6
            messages.append(Message(count, count, size, ms, alone))
    best = Fits(messages, 8, NONE).best
    assert best.form.within
    ms = best.ms(16, np.array([1e6]), np.array([0.25]))
    assert float(ms[0]) == pytest.approx(0.25 + 2 * 15 / 16, rel=1e-3)


def test_messages_that_were_sent_at_once_count_as_one() -> None:
    """gloo sends two at a time: the smaller one is over before its turn comes."""
    messages = []
    for count in (2, 4):
        share = 2 * (count - 1) / count
        for size, ms in ((5e5, 80.0), (6e5, 96.0), (2e5, 0.001), (5e5, 80.0)):
            messages.append(Message(count, count, size, ms * share if ms > 1 else ms))
    whole = merged(messages)
    assert [(each.bytes, each.number) for each in whole] == [(1.8e6, 4)] * 2
    ms = Fits(whole, 1, NONE).best.ms(8, np.array([5e5, 6e5, 2e5, 5e5]), np.zeros(4))
    assert float(ms.sum()) == pytest.approx(1.75 * 256, rel=1e-3)
    apart = messages_of(Planted(), (2, 4))
    assert merged(apart) == apart


def test_what_is_hidden_makes_the_constant_negative() -> None:
    messages = [Message(n, n, 1.0, 40 * 2 * (n - 1) / n - 35) for n in (2, 4, 8)]
    fits = Fits(messages, 1, NONE, may_hide=True)
    ms = fits.best.ms(16, np.ones(1), np.zeros(1))
    assert float(ms[0]) == pytest.approx(40 * 2 * 15 / 16 - 35, rel=1e-3)
    assert fits.best.ms(1, np.ones(1), np.zeros(1)) == 0.0


def test_the_spread_of_launches_is_that_of_those_on_as_many_nodes() -> None:
    chance = np.random.default_rng(2)
    plant = Planted()
    messages = []
    for launch in range(40):
        factor = 1 + 0.05 * chance.standard_normal()
        for size, ms in zip(plant.sizes, plant.messages(2), strict=True):
            messages.append(Message(launch, 2, size, factor * float(ms)))
    fits = Fits(messages, 1, NONE)
    assert fits.spread.freedom == 39
    assert fits.spread.value == pytest.approx(0.05, rel=0.25)
    drawn = [ms_of(fits.redrawn(chance), plant, 2)[1] for _ in range(200)]
    assert np.std(drawn) / np.mean(drawn) == pytest.approx(0.05 / 40**0.5, rel=0.3)


def test_without_repeats_it_is_that_of_own_work() -> None:
    fits = Fits(messages_of(Planted(), (2, 4)), 1, Spread(0.02, 2))
    assert fits.spread == Spread(0.02, 2)
    assert NONE.draw(np.random.default_rng(1)) == 0.0
