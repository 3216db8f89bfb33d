"""Planted models of a message's time are found again, on 2 and on 1024 ranks."""

import math
import random
from statistics import median

import pytest

from benchmarks.comm.alpha_beta import fit

# A ring all-reduce of n ranks takes 2(n-1) messages of 1 us, over links of 100 GB/s.
RANKS = (2, 1024)
SIZES = {"doubled": [2**k for k in range(10, 31)], "fourfold": [4**k for k in range(5, 16)]}
SEEDS = range(40)


def ring(ranks):
    return 2e-6 * (ranks - 1), 100e9 * ranks / (2 * (ranks - 1))


def noisy(time, size, spread, seed):
    return time * random.Random(f"{seed} {size}").lognormvariate(0, spread)


def planted(time, sizes, spread=0.0, seed=0):
    return fit([(size, noisy(time(size), size, spread, seed)) for size in sizes])


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("ranks", RANKS)
def test_an_exact_model(ranks, sizes):
    alpha, beta = ring(ranks)
    found = planted(lambda size: alpha + size / beta, sizes)
    assert (found.alpha, found.beta) == pytest.approx((alpha, beta))
    assert found.switches == ()
    assert found.residual < 1e-9


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("ranks", RANKS)
def test_noise_is_in_the_errors_and_is_no_switch(ranks, sizes):
    alpha, beta = ring(ranks)
    fits = [planted(lambda size: alpha + size / beta, sizes, 0.05, seed) for seed in SEEDS]
    within = [abs(found.alpha - alpha) <= 2.3 * found.alpha_error for found in fits]
    assert sum(within) >= 0.85 * len(fits)
    within = [abs(found.beta - beta) <= 2.3 * found.beta_error for found in fits]
    assert sum(within) >= 0.85 * len(fits)
    assert sum(bool(found.switches) for found in fits) <= 2
    assert median(found.residual for found in fits) == pytest.approx(0.045, abs=0.01)


@pytest.mark.parametrize("spread", [0.0, 0.05])
@pytest.mark.parametrize("ranks", RANKS)
def test_a_protocol_that_switches(ranks, spread):
    """Small messages at a third of the bandwidth; large ones at four times the latency."""
    alpha, beta = ring(ranks)

    def time(size):
        return alpha + 3 * size / beta if size <= 2**16 else 4 * alpha + size / beta

    fits = [planted(time, SIZES["doubled"], spread, seed) for seed in SEEDS]
    assert {found.switches for found in fits} == {(2**17,)}
    assert median(found.alpha for found in fits) == pytest.approx(alpha, rel=0.05)
    assert median(found.beta for found in fits) == pytest.approx(beta, rel=0.05)


@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_a_latency_until_the_bandwidth_is_reached(spread):
    """One line would give less than no latency, or a bandwidth that no size has."""
    alpha, beta = ring(2)
    fits = []
    for seed in SEEDS:
        fits.append(planted(lambda x: max(alpha, x / beta), SIZES["doubled"], spread, seed))
    assert all(found.switches in ((2**18,), (2**17,), (2**19,)) for found in fits)
    assert median(found.alpha for found in fits) == pytest.approx(alpha, rel=0.05)
    assert median(found.beta for found in fits) == pytest.approx(beta, rel=0.05)


def test_a_bandwidth_that_saturates():
    """Beyond 8 MiB each further byte takes twice the time."""
    alpha, beta = ring(2)
    found = planted(lambda x: alpha + (x + max(x - 2**23, 0)) / beta, SIZES["doubled"])
    assert found.beta == pytest.approx(beta / 2, rel=0.1)
    assert found.alpha == pytest.approx(alpha, rel=0.1)
    assert found.switches
    assert 2**22 <= found.switches[0] <= 2**25


def test_a_size_that_is_off_is_named():
    alpha, beta = ring(2)
    points = [(size, alpha + size / beta) for size in SIZES["fourfold"]]
    points[4] = (points[4][0], 1.5 * points[4][1])
    found = fit(points)
    assert found.worst_bytes == points[4][0]
    assert found.worst_error == pytest.approx(-1 / 3, abs=0.1)
    assert found.switches == ()


def test_no_latency_is_negative():
    """A line through these points would begin below zero."""
    found = fit([(size, size**1.2) for size in SIZES["doubled"][:5]])
    assert found.alpha == 0
    assert found.beta > 0
    assert found.residual > 0.1
    assert abs(found.worst_error) > 0.2


def test_no_time_grows_backwards():
    found = fit([(8, 2.0), (16, 1.0), (32, 1.0)])
    assert (found.beta, found.beta_error) == (math.inf, math.inf)
    assert 1 < found.alpha < 1.5


def test_a_bandwidth_within_the_noise_is_not_told():
    alpha, beta = ring(1024)
    sizes = SIZES["doubled"][:8]  # the largest takes a thousandth longer than the smallest
    found = planted(lambda size: alpha + size / beta, sizes, 0.05)
    assert found.beta == math.inf
    assert found.alpha == pytest.approx(alpha, rel=0.1)


def test_what_has_no_line():
    assert fit([]) is None
    assert fit([(8, 1.0), (8, 2.0)]) is None


def test_two_sizes_have_no_error():
    found = fit([(8, 1.0), (16, 1.5)])
    assert (found.alpha, found.beta) == pytest.approx((0.5, 16.0))
    assert math.isnan(found.alpha_error)
    assert found.residual < 1e-9
